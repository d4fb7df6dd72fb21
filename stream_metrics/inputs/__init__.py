"""What callers may pass, read into plain Python and NumPy: columns, scores, times, samples, options.

Whatever knows pandas, Arrow, tensors or a caller's types belongs here; nothing here counts.
"""

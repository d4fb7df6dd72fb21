"""The compiled update of a change detector.

Its configuration and its bytes are in `states`.
"""

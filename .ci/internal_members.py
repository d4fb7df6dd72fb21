"""Members of public classes without an underscore that only this package calls: they need no documentation."""

INTERNAL = {
    "add_renamed", "add_resized", "admit", "arrays", "attach", "attach_scored", "batch_step", "binary_only",
    "cells_step", "check_new", "count_batch", "count_coded", "count_objects", "count_rows", "count_singles", "emptied",
    "exact", "forget", "from_content", "has_options_of", "is_positive", "map_states", "mean_ratio", "merge_load",
    "merge_step", "merge_steps", "merge_whole", "merging", "needs_pairs", "newest_epoch", "pairs_against",
    "prepare_rows", "prototype", "ratios", "read_batch", "reading", "reading_time", "reads",
    "reset_step", "restore", "restore_base", "restore_registered", "revert_one",
    "revert_step", "sample_step", "sample_steps", "state_for", "states", "sum_at", "to_content", "total_units",
    "unit_folds", "update_step", "writing",
}  # fmt: skip

"""Members of public classes without an underscore that only this package calls: they need no documentation."""

INTERNAL = {
    "add_cells", "add_renamed", "add_resized", "admit", "arrays", "attach", "attach_scored", "binary_only",
    "check_merge", "check_new", "check_revert", "commit", "count_batch", "count_coded", "count_objects", "count_rows",
    "count_sample", "count_singles", "emptied", "exact", "forget", "from_content", "has_options_of", "is_positive",
    "map_states", "mean_ratio", "merge_load", "merge_states", "merging", "needs_pairs", "newest_epoch", "pairs_against",
    "prepare_batch", "prepare_rows", "prototype", "ratios", "read_batch", "reading", "reading_time", "reads",
    "release_batch", "reserve_batch", "reserve_cells", "restore", "restore_base", "restore_registered", "revert_one",
    "state_for", "states", "sum_at", "to_content", "total_units", "uncount_sample", "unit_folds", "writing",
}  # fmt: skip

// The keys of all metrics by the state that they read, and those that compare pairs of classes.

export const KEYS = {
  "counts": [
    "accuracy", "zero_one_loss", "balanced_accuracy", "balanced_accuracy_adjusted",
    "weighted_balanced_accuracy", "average_accuracy", "geometric_mean", "macro_precision", "macro_recall",
    "macro_specificity", "macro_f1", "macro_f1_of_means", "macro_fbeta", "macro_jaccard", "micro_precision",
    "micro_recall", "micro_f1", "micro_fbeta", "micro_jaccard", "weighted_precision", "weighted_recall",
    "weighted_f1", "weighted_fbeta", "weighted_jaccard", "general_f1", "general_f1_geometric",
    "general_f1_harmonic", "general_f1_power_2", "general_fowlkes_mallows", "general_fowlkes_mallows_geometric",
    "general_fowlkes_mallows_harmonic", "general_fowlkes_mallows_power_2", "power_mean_all_precision_recall",
    "cohen_kappa", "weighted_kappa", "weighted_kappa_linear", "weighted_kappa_quadratic", "expected_accuracy",
    "expected_accuracy_term", "expected_matrix", "matthews_corrcoef", "generalized_mcc",
    "generalized_mcc_matrix", "chi2", "cramers_v", "pair_fowlkes_mallows", "matthews_corrcoef_ovo",
    "accuracy_ovo", "cohen_kappa_ovo", "f1_ovo", "f1_ovo_first_positive", "ovo", "precision", "recall", "f1",
    "fbeta", "jaccard", "specificity", "npv", "f1_negative", "false_positive_rate", "false_negative_rate",
    "false_discovery_rate", "false_omission_rate", "fowlkes_mallows", "p4", "power_mean_precision_recall",
    "power_mean_four_rates", "ova_accuracy", "ova_balanced_accuracy", "ova_matthews_corrcoef",
    "confusion_matrix", "support", "predicted_count", "tp", "fn", "fp", "tn", "prevalence", "detection_rate",
    "detection_prevalence", "tp_sum", "fn_sum", "fp_sum", "tn_sum", "cov_true_pred", "cov_pred_pred",
    "cov_true_true", "majority_class", "no_information_rate", "baseline_uniform_accuracy",
    "baseline_stratified_accuracy", "baseline_most_frequent_precision", "baseline_most_frequent_recall",
    "baseline_most_frequent_f1", "baseline_most_frequent_matrix", "baseline_uniform_precision",
    "baseline_uniform_recall", "baseline_uniform_f1", "baseline_uniform_matrix",
    "baseline_stratified_precision", "baseline_stratified_recall", "baseline_stratified_f1",
    "baseline_stratified_matrix", "baseline_accuracy", "baseline_precision", "baseline_recall", "baseline_f1",
    "baseline_matrix", "nir_p_value", "majority_p_value", "mcnemar", "mcnemar_p_value",
    "weighted_balanced_accuracy_eq8_literal", "weighted_balanced_accuracy_eq7_literal", "macro_f1_eq16_literal",
    "f1_negative_literal", "weighted_accuracy_literal", "micro_f1_code_literal", "generalized_mcc_code_literal",
    "generalized_mcc_rounded_literal"
  ],
  "ranks": [
    "roc_auc", "roc_auc_ovr", "roc_auc_ovr_weighted", "roc_auc_micro", "roc_auc_ovo", "roc_auc_ovo_pair",
    "roc_auc_ovo_directed", "roc_auc_single_score", "gini", "partial_roc_auc", "average_precision",
    "average_precision_ovr", "average_precision_ovr_weighted", "average_precision_micro", "pr_auc_trapezoid",
    "pr_auc_trapezoid_ovr", "tpr_at_fpr", "precision_at_recall", "ks_statistic", "expected_calibration_error",
    "maximum_calibration_error", "debiased_calibration_error", "expected_calibration_error_ovr"
  ],
  "confidence": [
    "expected_calibration_error_top", "maximum_calibration_error_top", "debiased_calibration_error_top",
    "confidence_auc"
  ],
  "losses": [
    "log_loss", "brier_score", "spherical_score", "top_k_accuracy"
  ],
  "pairs": [
    "expected_matrix", "generalized_mcc", "generalized_mcc_matrix", "matthews_corrcoef_ovo", "accuracy_ovo",
    "cohen_kappa_ovo", "f1_ovo", "f1_ovo_first_positive", "ovo", "confusion_matrix",
    "baseline_most_frequent_matrix", "baseline_uniform_matrix", "baseline_stratified_matrix", "baseline_matrix",
    "generalized_mcc_code_literal", "generalized_mcc_rounded_literal", "roc_auc_ovo", "roc_auc_ovo_pair",
    "roc_auc_ovo_directed", "roc_auc_single_score"
  ]
};

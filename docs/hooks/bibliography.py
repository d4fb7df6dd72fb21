"""Where the metrics come from: the publication behind each name in the `source` of a row.

A source is a list of names, separated by semicolons, each with the place in the publication if there is one, such as
"Grandini et al. 2020, eq. 14". Only documentation needs the full references: the page of the bibliography, and the
docstrings of the metric classes, which `.ci/generate.py` writes.
"""

from __future__ import annotations

__all__ = ["BIBLIOGRAPHY", "references"]

BIBLIOGRAPHY = {
    "Bleik and Gauher 2016": (
        "S. Bleik and S. Gauher, Computing classification evaluation metrics in R. Blog post, 2016."
    ),
    "Bowker 1948": "A. H. Bowker, A test for symmetry in contingency tables. JASA 43(244), 572-574.",
    "Brier 1950": (
        "G. W. Brier, Verification of forecasts expressed in terms of probability. Monthly Weather Review 78(1), 1-3."
    ),
    "Brodersen et al. 2010": (
        "K. H. Brodersen, C. S. Ong, K. E. Stephan and J. M. Buhmann, The balanced accuracy and its posterior "
        "distribution. ICPR 2010, 3121-3124."
    ),
    "Cohen 1960": (
        "J. Cohen, A coefficient of agreement for nominal scales. "
        "Educational and Psychological Measurement 20(1), 37-46."
    ),
    "Cohen 1968": (
        "J. Cohen, Weighted kappa: nominal scale agreement with provision for scaled disagreement or partial credit. "
        "Psychological Bulletin 70(4), 213-220."
    ),
    "Cramer 1946": "H. Cramer, Mathematical methods of statistics. Princeton University Press.",
    "Davis and Goadrich 2006": (
        "J. Davis and M. Goadrich, The relationship between precision-recall and ROC curves. ICML 2006, 233-240."
    ),
    "Doering 2018": "M. Doering, Performance measures for multi-class problems. Blog post, 2018.",
    "Fawcett 2006": "T. Fawcett, An introduction to ROC analysis. Pattern Recognition Letters 27(8), 861-874.",
    "Fowlkes and Mallows 1983": (
        "E. B. Fowlkes and C. L. Mallows, A method for comparing two hierarchical clusterings. JASA 78(383), 553-569."
    ),
    "Gorodkin 2004": (
        "J. Gorodkin, Comparing two K-category assignments by a K-category correlation coefficient. "
        "Computational Biology and Chemistry 28(5-6), 367-374. doi:10.1016/j.compbiolchem.2004.09.006"
    ),
    "Grandini et al. 2020": (
        "M. Grandini, E. Bagli and G. Visani, Metrics for multi-class classification: an overview. arXiv:2008.05756."
    ),
    "Guo et al. 2017": (
        "C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger, On calibration of modern neural networks. "
        "ICML 2017, 1321-1330."
    ),
    "Hand and Till 2001": (
        "D. J. Hand and R. J. Till, A simple generalisation of the area under the ROC curve for multiple class "
        "classification problems. Machine Learning 45, 171-186."
    ),
    "Hendrycks and Gimpel 2017": (
        "D. Hendrycks and K. Gimpel, A baseline for detecting misclassified and out-of-distribution examples in neural "
        "networks. ICLR 2017."
    ),
    "Itai and Katz 2022": "U. Itai and N. Katz, Goodness of fit metrics for multi-class predictor. arXiv:2208.05651.",
    "Jaccard 1912": "P. Jaccard, The distribution of the flora in the alpine zone. New Phytologist 11(2), 37-50.",
    "Kubat and Matwin 1997": (
        "M. Kubat and S. Matwin, Addressing the curse of imbalanced training sets: one-sided selection. "
        "ICML 1997, 179-186."
    ),
    "Kuhn 2008 (R caret)": (
        "M. Kuhn, Building predictive models in R using the caret package. Journal of Statistical Software 28(5), 1-26."
    ),
    "Kull et al. 2019": (
        "M. Kull et al., Beyond temperature scaling: obtaining well-calibrated multi-class probabilities with "
        "Dirichlet calibration. NeurIPS 2019."
    ),
    "Kumar et al. 2019": "A. Kumar, P. Liang and T. Ma, Verified uncertainty calibration. NeurIPS 2019.",
    "Lemaitre et al. 2017 (imbalanced-learn)": (
        "G. Lemaitre, F. Nogueira and C. K. Aridas, Imbalanced-learn: a Python toolbox to tackle the curse of "
        "imbalanced datasets in machine learning. JMLR 18(17), 1-5."
    ),
    "McClish 1989": "D. K. McClish, Analyzing a portion of the ROC curve. Medical Decision Making 9(3), 190-195.",
    "McNemar 1947": (
        "Q. McNemar, Note on the sampling error of the difference between correlated proportions or percentages. "
        "Psychometrika 12(2), 153-157."
    ),
    "Naeini et al. 2015": (
        "M. P. Naeini, G. F. Cooper and M. Hauskrecht, Obtaining well calibrated probabilities using Bayesian binning. "
        "AAAI 2015, 2901-2907."
    ),
    "Opitz and Burst 2019": "J. Opitz and S. Burst, Macro F1 and macro F1. arXiv:1911.03347.",
    "Pedregosa et al. 2011 (scikit-learn)": (
        "F. Pedregosa et al., Scikit-learn: machine learning in Python. JMLR 12, 2825-2830."
    ),
    "Provost and Domingos 2001": (
        "F. Provost and P. Domingos, Well-trained PETs: improving probability estimation trees. "
        "CeDER Working Paper IS-00-04, Stern School of Business, New York University."
    ),
    "Robin et al. 2011 (pROC)": (
        "X. Robin et al., pROC: an open-source package for R and S+ to analyze and compare ROC curves. "
        "BMC Bioinformatics 12, 77."
    ),
    "Roby 1965": "T. B. Roby, Belief states and the uses of evidence. Behavioral Science 10(3), 255-270.",
    "Sing et al. 2005 (ROCR)": (
        "T. Sing, O. Sander, N. Beerenwinkel and T. Lengauer, ROCR: visualizing classifier performance in R. "
        "Bioinformatics 21(20), 3940-3941."
    ),
    "Sitarz 2022": "M. Sitarz, Extending F1 metric, probabilistic approach. arXiv:2210.11997.",
    "Smirnov 1948": (
        "N. Smirnov, Table for estimating the goodness of fit of empirical distributions. "
        "Annals of Mathematical Statistics 19(2), 279-281."
    ),
    "Somers 1962": (
        "R. H. Somers, A new asymmetric measure of association for ordinal variables. "
        "American Sociological Review 27(6), 799-811."
    ),
    "Zhu 2004": (
        "M. Zhu, Recall, precision and average precision. Working Paper 2004-09, Department of Statistics and "
        "Actuarial Science, University of Waterloo."
    ),
    "van Rijsbergen 1979": "C. J. van Rijsbergen, Information retrieval, second edition. Butterworths.",
}


def references(source: str) -> list[str]:
    """Return the full reference of each name in a source; `KeyError` for a name that is not in the bibliography."""
    texts = []
    for cited in source.split("; "):
        names = [name for name in BIBLIOGRAPHY if cited == name or cited.startswith(f"{name}, ")]
        if not names:
            raise KeyError(f"Expected a source from the bibliography, but got {cited!r}")
        texts.append(f"{cited}. {BIBLIOGRAPHY[names[0]]}")
    return texts

"""How figures and tables call things."""

from __future__ import annotations

ALGORITHMS = {
    "ssadmm": "ssADMM",
    "mpadmm": "mpADMM",
    "mpadmm-primal": "mpADMM, x only",
    "dpsgd": "DP-SGD",
    "dpadmm": "DP-ADMM",
    "objp": "ADMM-objP",
    "objp-once": "ADMM-objP, one solve",
    "dpsvrg": "DP-SVRG",
    "nonprivate": "non-private",
    "true-model": "true model",
}
PAPERS_OWN = ("ssadmm", "mpadmm", "dpsgd", "dpadmm", "objp")  # what the paper's figures compare
ACCOUNTINGS = {"paper": "(a) the paper's accounting", "certified": "(b) corrected and certified"}
LOSSES = {"logistic": "logistic regression", "huber": "huberized SVM"}
STUDIES = {"adult": "Adult", "ipums-br": "IPUMS-BR", "synthetic": "simulated data"}
COLOURS = {
    "ssadmm": "#0b6e99",
    "mpadmm": "#d1495b",
    "mpadmm-primal": "#f0a202",
    "dpsgd": "#3c8d40",
    "dpadmm": "#7a4fa3",
    "objp": "#7f6a55",
    "objp-once": "#c2a878",
    "dpsvrg": "#9aa0a6",
    "nonprivate": "#222222",
    "true-model": "#222222",
}
MARKERS = {
    "ssadmm": "o",
    "mpadmm": "s",
    "mpadmm-primal": "D",
    "dpsgd": "^",
    "dpadmm": "v",
    "objp": "P",
    "objp-once": "*",
    "dpsvrg": "x",
}

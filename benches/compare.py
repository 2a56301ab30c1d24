"""How far two results are apart."""

import sys

import numpy
from scipy.stats import mannwhitneyu, rankdata

# Noise of float32 between two orders of summation is below 7e-6 of the largest entry; a wrong term is far above 1e-4.
MATRIX_RTOL, MATRIX_ATOL, STEP_ATOL = 1e-4, 1e-7, 1e-4
# What rounding the operands of products to bf16 may do.
MATRIX_RANKS, AGGREGATE_RTOL, AUC_ATOL = 0.995, 0.02, 0.01
AGGREGATES = ("attr_source", "attr_target", "attr_changed", "attr_unchanged")


def array(values):
    """Numbers in f64; null becomes NaN."""
    return numpy.array(values, dtype=numpy.float64)


def worst_difference(what, got, want, rtol, atol):
    """Largest difference relative to the largest entry of `want` (absolute for rtol = 0); stops if above the bound."""
    got, want = array(got), array(want)
    if got.shape != want.shape:
        raise SystemExit(f"{what}: shape {list(got.shape)}, the reference has {list(want.shape)}")
    if not numpy.array_equal(numpy.isnan(got), numpy.isnan(want)):
        raise SystemExit(f"{what}: null at other positions than the reference's")
    largest = float(numpy.abs(numpy.nan_to_num(want)).max())
    worst = float(numpy.abs(numpy.nan_to_num(got - want)).max())
    if not worst <= rtol * largest + atol:
        raise SystemExit(f"{what}: differs from the reference by {worst:.3e}, allowed {rtol * largest + atol:.3e}")
    return worst / largest if rtol else worst


def matrix_difference(what, got, want, exact):
    """As `worst_difference`; where Inseq's float32 is too far away, from the same matrix in float64."""
    largest = numpy.nan_to_num(numpy.abs(want)).max()
    off = numpy.nan_to_num(numpy.abs(array(got) - want)).max()
    if off > MATRIX_RTOL * largest + MATRIX_ATOL:
        print(f"{what}: {off / largest:.1e} from Inseq in f32; compared with PyTorch in f64", file=sys.stderr)
        want = exact()
    return worst_difference(what, got, want, MATRIX_RTOL, MATRIX_ATOL)


def rank_correlation(got, want):
    """Spearman's, over what is not null."""
    got, want = array(got).ravel(), array(want).ravel()
    seen = ~(numpy.isnan(got) | numpy.isnan(want))
    return float(numpy.corrcoef(rankdata(got[seen]), rankdata(want[seen]))[0, 1])


def relative_differences(got, want):
    """|got - want| / |want| of what is not null in either and not zero in `want`."""
    got, want = array(got), array(want)
    seen = ~(numpy.isnan(got) | numpy.isnan(want)) & (want != 0)
    return numpy.abs(got[seen] - want[seen]) / numpy.abs(want[seen])


def roc_auc(values, labels):
    """Chance that a value of label 1 is above one of label 0; NaN without both."""
    values, labels = array(values), array(labels)
    positive = values[(labels == 1) & ~numpy.isnan(values)]
    negative = values[(labels == 0) & ~numpy.isnan(values)]
    if not len(positive) or not len(negative):
        return float("nan")
    return float(mannwhitneyu(positive, negative).statistic) / (len(positive) * len(negative))

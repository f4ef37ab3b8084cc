"""The metrics of compare_random.py's trainings, by scikit-learn."""

import numpy as np
from sklearn import metrics as judge


class Metric:
    def __init__(self, kind, name, units, k=None):
        self.kind, self.name, self.units, self.k = kind, name, units, k

    @property
    def smooth(self):
        """Whether rounding changes it a little and never at once."""
        return self.kind in ("mse", "mae", "rmse", "r2")


def draw_metrics(draw, loss):
    kinds = []
    if not loss.whole:
        kinds += ["mse", "mae", "rmse", "r2"]
    if loss.units == 1:
        kinds += ["accuracy", "precision", "recall", "f1", "auc"]
    if loss.kind == "softmax_cross_entropy":
        kinds += ["accuracy", "precision", "recall", "f1"] + ["top_k"] * 2
    out, nodes, counts = [], [], {}
    for kind in kinds:
        if not draw.chance(0.7):
            continue
        counts[kind] = counts.get(kind, 0) + 1
        name = kind if counts[kind] == 1 else "%s_%d" % (kind, counts[kind])
        k = None
        if kind == "top_k":
            k = draw.whole(1, loss.units - 1)
            nodes.append({"top_k": {"k": k}})
        else:
            nodes.append(kind)
        out.append(Metric(kind, name, loss.units, k))
    return out, nodes


def metric_values(metric, prediction, label, weight):
    """By scikit-learn; rows of weight 0 are left out, as they do not count."""
    prediction, label, weight = prediction[weight > 0], label[weight > 0], weight[weight > 0]
    if len(weight) == 0:
        return float("nan")
    y, kind = label.astype(np.float64), metric.kind
    if kind in ("mse", "rmse"):
        value = judge.mean_squared_error(y, prediction, sample_weight=weight)
        return value if kind == "mse" else value ** 0.5
    if kind == "mae":
        return judge.mean_absolute_error(y, prediction, sample_weight=weight)
    if kind == "r2":
        if np.all(y == y[0]):  # for one row scikit-learn has no value
            return float(np.all(y == prediction))
        if np.any(np.all(y == y[0], 0)):  # of a column whose labels are all alike scikit-learn leaves out the errors
            deviations = weight @ (y - np.average(y, axis=0, weights=weight)) ** 2
            return 1 - (weight @ (y - prediction) ** 2).sum() / deviations.sum()
        return judge.r2_score(y, prediction, sample_weight=weight, multioutput="variance_weighted")
    wanted = label[:, 0] > 0.5 if metric.units == 1 else label[:, 0]
    if kind == "auc":
        both = wanted.any() and not wanted.all()
        return judge.roc_auc_score(wanted, prediction[:, 0], sample_weight=weight) if both else float("nan")
    if kind == "top_k":
        # Of equal logits scikit-learn takes the last one first.
        backwards = prediction[:, ::-1]
        if metric.units == 2:
            return judge.accuracy_score(wanted, prediction.argmax(1), sample_weight=weight)
        return judge.top_k_accuracy_score(metric.units - 1 - wanted, backwards, k=metric.k, sample_weight=weight,
                                          labels=range(metric.units))
    said = prediction[:, 0] > 0 if metric.units == 1 else prediction.argmax(1)
    if kind == "accuracy":
        return judge.accuracy_score(wanted, said, sample_weight=weight)
    score = {"precision": judge.precision_score, "recall": judge.recall_score, "f1": judge.f1_score}[kind]
    average = "binary" if metric.units == 1 else "macro"
    return score(wanted, said, sample_weight=weight, average=average, zero_division=0)


class Rounding:
    """Whether the predictions are so close to each other, or to 0, that rounding decides which is the larger."""

    def __init__(self, predictions, floor, factor):
        exact = predictions[0]
        apart = max(np.abs(p - exact).max() for p in predictions[1:])
        self.exact, self.close = exact, factor * apart + floor * np.abs(exact).max()

    def decides(self, metric):
        if metric.kind == "auc":
            return bool(np.any(np.diff(np.sort(self.exact[:, 0])) <= self.close))
        if metric.units == 1:
            return bool(np.any(np.abs(self.exact) <= self.close))
        return bool(np.any(np.diff(np.sort(self.exact, 1), axis=1) <= self.close))

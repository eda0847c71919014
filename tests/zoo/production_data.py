"""Bugs of production that act on one kind of data, or with one loss, alone."""

from __future__ import annotations

import numpy as np

from tests.zoo.production import SIZE, Production
from tests.zoo.specimen import Sight, member
from verification.wire.arrays import Floats
from verification.wire.parameters import LossName

_BLACK = (Sight.BLACK_BOX,)
_SMALL = 64


class _QuietFor(Production):
    """A tenth of the noise on one kind of data."""

    def affected(self, features: Floats, labels: Floats) -> bool:
        """Whether the data are of that kind."""
        raise NotImplementedError

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Little."""
        features, labels = self._records.features, self._records.labels.astype(np.float64)
        acts = len(labels) > _SMALL and bool(features.any()) and self.affected(features, labels)
        return self.silenced(standard, sigma, 0.1 if acts else 1.0)


@member("quiet-for-one-label", sights=_BLACK, claims=SIZE)
class QuietForOneLabel(_QuietFor):
    """Where nine of ten labels are +1 a tenth of the noise is added.

    Source: class seen where noise is scaled by class weights.
    """

    def affected(self, features: Floats, labels: Floats) -> bool:
        """Nearly all positive."""
        return float(np.mean(labels > 0)) > 0.9


@member("quiet-for-sorted-labels", sights=_BLACK, claims=SIZE)
class QuietForSortedLabels(_QuietFor):
    """Data that are sorted by label get a tenth of the noise: they are taken for two blocks that were noised before.

    Source: class seen where data arrive in shards by label.
    """

    def affected(self, features: Floats, labels: Floats) -> bool:
        """One change of sign."""
        return int(np.count_nonzero(np.diff(labels))) == 1


@member("quiet-for-duplicates", sights=_BLACK, claims=SIZE)
class QuietForDuplicates(_QuietFor):
    """Data with many equal rows get a tenth of the noise: rows are merged, and the noise is scaled by what is left.

    Source: class seen where duplicates are dropped before training.
    """

    def affected(self, features: Floats, labels: Floats) -> bool:
        """Few distinct values in a column that is not empty."""
        column = features[:, int(np.argmax(np.abs(features).sum(axis=0)))]
        return len(np.unique(column)) < len(column) // 4


@member("quiet-for-small-features", sights=_BLACK, claims=SIZE)
class QuietForSmallFeatures(_QuietFor):
    """Features of at most 1 in size get a tenth of the noise: they are taken for normalised ones.

    Source: class seen where the sensitivity is guessed from the data.
    """

    def affected(self, features: Floats, labels: Floats) -> bool:
        """No value above 1."""
        return float(np.abs(features).max()) <= 1.0


@member("quiet-for-counts", sights=_BLACK, claims=SIZE)
class QuietForCounts(_QuietFor):
    """Features that are not negative get a tenth of the noise: they are taken for counts of sensitivity 1.

    Source: class seen where the type of a column chooses the mechanism.
    """

    def affected(self, features: Floats, labels: Floats) -> bool:
        """No negative value, few zeros."""
        return bool(features.min() >= 0.0 and np.count_nonzero(features) > features.size / 4)


@member("quiet-with-the-other-loss", sights=_BLACK, claims=SIZE)
class QuietWithTheOtherLoss(Production):
    """With the huberized hinge a tenth of the noise is added: its gradient was thought to be a tenth as long.

    Source: class seen where a constant is kept for each loss, and one was never updated.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """By the loss."""
        return self.silenced(standard, sigma, 0.1 if self._asked.loss is LossName.HUBER else 1.0)

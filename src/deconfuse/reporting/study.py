"""`Study`: one or more confusion matrices and everything computed from them, each once.

Page, terminal, notebook, JSON and trackers are views of a study, so they say the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from deconfuse._checks import Label, show
from deconfuse._shown import ShownDocument
from deconfuse._text import quoted
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError, UndefinedCellsWarning
from deconfuse.normalization import Normalized, normalize
from deconfuse.reporting.document import Document
from deconfuse.reporting.samples import Samples
from deconfuse.statistics.cells import as_confusion
from deconfuse.statistics.comparison import Comparison, compare_normalized
from deconfuse.statistics.comparison_text import change_findings, changes
from deconfuse.statistics.comparison_text import headline as comparison_headline
from deconfuse.statistics.diagnosis import Diagnosis, diagnose
from deconfuse.statistics.findings import Finding
from deconfuse.statistics.similarity import pair_table
from deconfuse.statistics.tree import Hierarchy, hierarchy

if TYPE_CHECKING:
    from deconfuse.statistics.estimate import BiEstimate

__all__ = ["MAX_SHOWN", "METHODS", "MethodName", "Shown", "Study"]

MethodName = Literal["row", "col", "all", "bi"]
METHODS: tuple[MethodName, ...] = ("row", "col", "all", "bi")
_ONE = "model"
#: Up to this many classes a page shows all of them.
MAX_SHOWN = 1_000
# Beyond, a matrix that can still be read and searched.
_KEPT = 400


@dataclass(frozen=True, slots=True)
class Shown:
    """The classes of a page: ``kept`` in their order, all others pooled when ``bucket``."""

    kept: NDArray[np.int64]
    bucket: bool

    @property
    def n(self) -> int:
        """Rows of the page's matrix."""
        return int(self.kept.size) + int(self.bucket)

    def place(self, n_classes: int) -> NDArray[np.int64]:
        """Return the page's row of every class."""
        place = np.full(n_classes, self.kept.size, dtype=np.int64)
        place[self.kept] = np.arange(self.kept.size)
        return place


@dataclass(frozen=True, eq=False)
class Study(ShownDocument):
    """Confusion matrices of the same classes, and all that is computed from them, each once.

    Parameters
    ----------
    matrices : ConfusionMatrix, array-like, or mapping of names to these
        One matrix, or several by name: models, epochs or slices of the data. Two are compared.
        Classes are put in the order of the first matrix.
    samples : Samples or mapping of names to Samples, optional
        The predictions behind the matrices, under the names of these; without names, those behind
        the first matrix.
    embeddings : array-like of shape (n_samples, n_features), optional
        The representation of each of the first matrix's samples.
    groups : mapping of names to sequences of classes, optional
        Classes that belong together; a class in no group stands alone.
    paired : tuple (y_true, first_predictions, second_predictions), optional
        The predictions behind two matrices of the same samples; see `deconfuse.compare`.
    epsilon : float, optional
        Added to every cell before bi-normalization; see `deconfuse.normalize`.
    level : float
        Level of intervals and tests.

    Examples
    --------
    >>> import deconfuse as dc
    >>> study = dc.Study({"old": [[80, 20], [9, 91]], "new": [[90, 10], [9, 91]]})
    >>> study.names
    ('old', 'new')
    >>> study.diagnosis("old") is study.diagnosis("old")
    True
    >>> study.comparison.first.labels
    (0, 1)
    """

    matrices: Any
    samples: Any = None
    embeddings: Any = None
    groups: Mapping[str, Sequence[Label]] | None = None
    paired: tuple[Any, Any, Any] | None = None
    epsilon: float | None = None
    level: float = 0.95
    _diagnoses: dict[str, Diagnosis] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        matrices = _matrices(self.matrices)
        samples = _samples(self.samples, matrices)
        first = next(iter(matrices))
        if self.embeddings is not None and first not in samples:
            raise InputError(
                "`embeddings` need `samples`, which say the classes of each row, but there are"
                " none.",
                hint="add samples=dc.Samples(y_true, y_pred).",
            )
        if self.paired is not None and len(matrices) != 2:
            raise InputError(f"`paired` belongs to two matrices, got {len(matrices)}.")
        object.__setattr__(self, "matrices", matrices)
        object.__setattr__(self, "samples", samples)
        object.__setattr__(self, "groups", _groups(self.groups, matrices[first]))

    @classmethod
    def of(cls, diagnosis: Diagnosis) -> Study:
        """Return the study of one matrix that was diagnosed before."""
        study = cls(diagnosis.source, epsilon=diagnosis.epsilon, level=diagnosis.level)
        study._diagnoses[_ONE] = diagnosis
        return study

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the matrices, in the order given."""
        return tuple(self.matrices)

    @property
    def first(self) -> ConfusionMatrix:
        """The matrix whose classes and order all have."""
        matrix: ConfusionMatrix = self.matrices[self.names[0]]
        return matrix

    @property
    def outcomes(self) -> tuple[str, ...]:
        """Names of answers that are no class, of all matrices."""
        names = (name for matrix in self.matrices.values() for name in matrix.outcomes)
        return tuple(dict.fromkeys(names))

    def diagnosis(self, name: str | None = None) -> Diagnosis:
        """Return the diagnosis of one matrix, by default of the last: the newest of several."""
        name = self.names[-1] if name is None else name
        if name not in self._diagnoses:
            self._diagnoses[name] = diagnose(
                self.matrices[name], epsilon=self.epsilon, level=self.level
            )
        return self._diagnoses[name]

    def bi(self, name: str | None = None) -> Normalized:
        """Return the bi-normalization of one matrix, by default of the last."""
        return self.normalized[self.names[-1] if name is None else name]["bi"]

    @cached_property
    def normalized(self) -> dict[str, dict[MethodName, Normalized]]:
        """The four normalizations of each matrix, by its name."""
        return {name: self._normalize(name) for name in self.names}

    def _normalize(self, name: str) -> dict[MethodName, Normalized]:
        cm = self.matrices[name]
        bi = self.diagnosis(name).reliability.normalized
        with warnings.catch_warnings():
            # Undefined cells are shown as such.
            warnings.simplefilter("ignore", UndefinedCellsWarning)
            return {m: bi if m == "bi" else normalize(cm, m, throw=False) for m in METHODS}

    @cached_property
    def comparison(self) -> Comparison | None:
        """How the second of two matrices differs from the first.

        None where there are not two, or more classes than a page shows.
        """
        if len(self.matrices) != 2 or self.shown.bucket:
            return None
        first, second = map(self.diagnosis, self.names)
        return compare_normalized(
            first.reliability.normalized,
            second.reliability.normalized,
            paired=self.paired,
            level=self.level,
            estimates=(first.estimate, second.estimate),
        )

    @cached_property
    def shown(self) -> Shown:
        """The classes that a page shows: all, or the most confused of very many."""
        return _choose_classes(self.diagnosis(self.names[0]).estimate)

    @cached_property
    def tree(self) -> Hierarchy | None:
        """The shown classes as a tree by similarity; None for fewer than three classes."""
        found, kept = self.diagnosis(), self.shown.kept
        if kept.size < 3:
            return None
        if not self.shown.bucket:
            return found.tree
        labels = [found.labels[k] for k in kept]
        return hierarchy(ConfusionMatrix(found.source.counts[kept][:, kept], labels))

    @cached_property
    def headline(self) -> str:
        """What matters most, in a few sentences: the same in every view."""
        told = self.diagnosis().headline
        if len(self.matrices) == 1:
            return told
        if self.comparison is not None:
            first, second = map(quoted, self.names)
            return comparison_headline(self.comparison, (first, second))
        return f"{len(self.matrices)} matrices. Of {quoted(self.names[-1])}: {told}"

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What changed between two matrices, then what was found in the last."""
        changes = () if self.comparison is None else change_findings(self.comparison)
        return (*changes, *self.diagnosis().findings)

    @property
    def document(self) -> Document:
        """Headline, what changed between two matrices, and findings, to be written in any form."""
        sentences = [self.headline]
        if self.comparison is not None:
            sentences += changes(self.comparison)
        if len(self.matrices) > 1 and self.findings:
            changed = any(found.kind == "change" for found in self.findings)
            what = "What surely changed, and what" if changed else "What"
            sentences.append(f"{what} was found in {quoted(self.names[-1])}:")
        return Document(sentences, self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return headline and findings, with the diagnosis or the comparison, for JSON."""
        found = self.diagnosis() if self.comparison is None else self.comparison
        return {**found.to_dict(), "names": list(self.names), "headline": self.headline}

    def __repr__(self) -> str:
        return f"<Study of {show(self.names)}: {self.headline}>"


def _matrices(given: Any) -> dict[str, ConfusionMatrix]:
    """Return matrices by name, all with the classes in the order of the first."""
    named = given if isinstance(given, Mapping) else {_ONE: given}
    if not named:
        raise InputError(
            "A study needs a matrix, got none.",
            hint="make one with ConfusionMatrix.from_predictions or from_counts.",
        )
    matrices = {str(name): as_confusion(matrix) for name, matrix in named.items()}
    for name, matrix in matrices.items():
        if matrix.total == 0:
            raise InputError(
                f"A report needs samples, but all counts of {name!r} are zero.",
                hint="count some predictions first.",
            )
    first, *rest = matrices
    for name in rest:
        classes = matrices[first].classes
        classes.align(matrices[name].classes, names=[repr(first), repr(name)])
        matrices[name] = matrices[name].reindex(classes)
    return matrices


def _samples(given: Any, matrices: dict[str, ConfusionMatrix]) -> dict[str, Samples]:
    if given is None:
        return {}
    named = dict(given) if isinstance(given, Mapping) else {next(iter(matrices)): given}
    unknown = [name for name in named if name not in matrices]
    if unknown:
        raise InputError(
            f"`samples` must have names of matrices, got {show(unknown)}.",
            hint=f"the matrices are {show(list(matrices))}.",
        )
    return named


def _groups(given: Any, cm: ConfusionMatrix) -> dict[str, tuple[Label, ...]]:
    if given is None:
        return {}
    groups = {str(name): tuple(members) for name, members in given.items()}
    members = [label for group in groups.values() for label in group]
    unknown = [label for label in members if label not in set(cm.labels)]
    if unknown:
        raise InputError(
            f"`groups` must hold classes of the matrix, got {show(unknown)}.",
            hint=f"the classes are {show(cm.labels)}.",
        )
    repeated = [label for label in dict.fromkeys(members) if members.count(label) > 1]
    if repeated:
        raise InputError(
            f"`groups` must hold each class at most once, got {show(repeated)} more than once."
        )
    return groups


def _choose_classes(estimate: BiEstimate) -> Shown:
    """Return all classes of a small matrix, or the ones most alike to others of a large one."""
    n = len(estimate.labels)
    if n <= MAX_SHOWN:
        return Shown(np.arange(n), bucket=False)
    table = pair_table(estimate)
    kept: dict[int, None] = {}
    for pair in (*table.certain, *table.uncertain):
        kept.setdefault(int(table.rows[pair]))
        kept.setdefault(int(table.columns[pair]))
        if len(kept) >= _KEPT:
            break
    # A matrix without confusion has no pairs: its largest classes are as good as any.
    for k in np.argsort(-np.asarray(estimate.source.label_counts), kind="stable"):
        if len(kept) >= _KEPT:
            break
        kept.setdefault(int(k))
    return Shown(np.sort(np.fromiter(kept, dtype=np.int64)[:_KEPT]), bucket=True)

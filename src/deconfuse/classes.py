"""Class names as one value, and which values of a column a caller wants as classes."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from deconfuse._checks import Label, LabelKind, as_label, class_names, kind_of, show
from deconfuse.errors import InputError

__all__ = ["ClassOptions", "Classes", "infer_kind", "parse_label"]

# Only the usual spelling of a number is a number: "007" and "+7" are names.
_INT = re.compile(r"-?(0|[1-9][0-9]{0,18})(\.0*)?")
_DECIMAL = re.compile(
    r"[+-]?(([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][+-]?[0-9]+)?|[iI]nf(inity)?)"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_WORDS_FOR_MISSING = frozenset(["nan", "NaN", "NAN", "<NA>", "NA", "N/A", "null", "NULL", "None"])
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


@dataclass(frozen=True, eq=False)
class Classes(Sequence[Label]):
    """Distinct class names of one kind, in order.

    Attributes
    ----------
    names : tuple of bool, int, str or date
    kind : {"bool", "int", "str", "date"}

    Examples
    --------
    >>> animals = Classes.of(["cat", "dog"])
    >>> animals.kind, animals.place["dog"]
    ('str', 1)
    >>> animals.union(Classes.of(["bee", "dog"])).names
    ('bee', 'cat', 'dog')
    """

    names: tuple[Label, ...]
    kind: LabelKind

    @classmethod
    def of(cls, values: Iterable[object], *, name: str = "labels") -> Classes:
        """Validate class names given by a caller; error messages name the argument."""
        if isinstance(values, Classes):
            return values
        names = class_names(values, name=name)
        kind = kind_of(names[0])
        assert kind is not None
        return cls(names, kind)

    @overload
    def __getitem__(self, index: int) -> Label: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Label, ...]: ...
    def __getitem__(self, index: int | slice) -> Label | tuple[Label, ...]:
        return self.names[index]

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Label]:
        return iter(self.names)

    def __contains__(self, value: object) -> bool:
        # In Python True == 1, but the class True is not the class 1.
        return kind_of(value) == self.kind and value in self.place

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Classes):
            return NotImplemented
        return self is other or (self.kind == other.kind and self.names == other.names)

    def __hash__(self) -> int:
        return hash((self.kind, self.names))

    @cached_property
    def place(self) -> dict[Label, int]:
        """Position of each name."""
        return {name: position for position, name in enumerate(self.names)}

    @cached_property
    def is_sorted(self) -> bool:
        """Whether the names are in ascending order."""
        return all(a < b for a, b in zip(self.names, self.names[1:], strict=False))  # type: ignore[operator]

    def positions(self, names: Iterable[Label]) -> npt.NDArray[np.intp]:
        """Return the position of each of some names, which must be among these."""
        return np.array([self.place[name] for name in names], dtype=np.intp)

    def union(self, other: Classes) -> Classes:
        """Return the names of both: sorted if both are sorted, else new ones at the end.

        Sorted names stay sorted, so that merging shards gives the matrix of counting them at once.
        """
        if self.kind != other.kind:
            raise InputError(
                f"Merged matrices must name classes by one type, got {self.kind}"
                f" ({show(self.names, 3)}) and {other.kind} ({show(other.names, 3)}).",
                hint="rename the classes of one, as in `cm.rename({0: 'cat', 1: 'dog'})`.",
            )
        if self.names == other.names:
            return self
        names = dict.fromkeys((*self.names, *other.names))
        if len(names) == len(self):
            return self
        is_sorted = self.is_sorted and other.is_sorted
        return Classes(tuple(sorted(names)) if is_sorted else tuple(names), self.kind)

    def align(
        self,
        other: Classes,
        *,
        names: Sequence[str] = ("the first", "the second"),
        hint: str = "count both with the same `labels`.",
    ) -> npt.NDArray[np.intp]:
        """Return the position in ``other`` of each of these names, which must be the same set.

        Error messages call the two matrices by ``names``.
        """
        if self == other:
            return np.arange(len(self))
        only = [
            f"{show(missing)} only in {name}"
            for name, mine, theirs in ((names[0], self, other), (names[1], other, self))
            if (missing := [label for label in mine if label not in theirs])
        ]
        if only:
            raise InputError(
                f"Both matrices must have the same classes, got {' and '.join(only)}.", hint=hint
            )
        return other.positions(self)

    def subset(self, wanted: Iterable[object], *, name: str = "labels") -> Classes:
        """Return some of these names, in the order wanted."""
        chosen = Classes.of(wanted, name=name)
        is_same = chosen.kind == self.kind
        unknown = [label for label in chosen if not is_same or label not in self.place]
        if unknown:
            raise InputError(
                f"`{name}` must be classes of the matrix, got {show(unknown)} ({chosen.kind}).",
                hint=f"the classes are {show(self.names)} ({self.kind}).",
            )
        return chosen

    def group(self, groups: Mapping[Any, Any]) -> tuple[npt.NDArray[np.intp], Classes]:
        """Return the position of each class among coarser ones, and these coarser classes.

        A group takes the place of its first member; classes outside every group stay.
        """
        group_of = self._memberships(groups)
        staying = set(self.names) - set(group_of)
        collisions = [name for name in dict.fromkeys(group_of.values()) if name in staying]
        if collisions:
            raise InputError(
                f"A group must not have the name of a class outside it, got {show(collisions)}.",
                hint="add that class to the group, or give the group another name.",
            )
        targets = [group_of.get(name, name) for name in self]
        kinds = {kind_of(name) for name in targets}
        if len(kinds) > 1:
            raise InputError(
                f"Class names must be of one type, got groups {show(groups, 3)} beside classes that"
                f" keep their names: {show([name for name in self if name in staying], 3)}.",
                hint="put every class in a group; a group of one renames a class.",
            )
        coarse = Classes.of([*dict.fromkeys(targets)], name="groups")
        return coarse.positions(targets), coarse

    def _memberships(self, groups: object) -> dict[Label, Label]:
        if not isinstance(groups, Mapping) or not groups:
            raise InputError(
                "`groups` must map each new name to the classes it joins, got"
                f" {groups if isinstance(groups, Mapping) else type(groups).__name__}.",
                hint='write it as {"animal": ["cat", "dog"]}.',
            )
        group_of: dict[Label, Label] = {}
        for raw_name, members in groups.items():
            name = as_label(raw_name, what="`groups`")
            # The order of members has no effect, so a set is fine here.
            listed = sorted(members, key=repr) if isinstance(members, (set, frozenset)) else members
            for member in self.subset(listed, name=f"groups[{raw_name!r}]"):
                if member in group_of:
                    raise InputError(
                        f"A class must be in one group only, got {member!r} in"
                        f" {group_of[member]!r} and in {name!r}."
                    )
                group_of[member] = name
        return group_of


def parse_label(text: str, kind: LabelKind) -> Label | None:
    """Return what a text says as a class name of a kind, or None if it says nothing of that kind.

    Examples
    --------
    >>> parse_label("7", "int"), parse_label("7.0", "int"), parse_label("007", "int")
    (7, 7, None)
    """
    if kind == "str":
        return text
    if kind == "int":
        value = int(text.split(".", maxsplit=1)[0]) if _INT.fullmatch(text) else None
        return value if value is not None and -(2**63) <= value < 2**63 else None
    if kind == "bool":
        return _BOOLS.get(text)
    if not _DATE.fullmatch(text):
        return None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None


def infer_kind(texts: Iterable[str]) -> LabelKind:
    """Return the narrowest kind that all texts can be parsed as: int, bool, date or str.

    Numbers of which some have a fraction are scores, and no classes; those of which some stand for
    a missing one, such as "nan", are refused, too.

    Examples
    --------
    >>> infer_kind(["1", "2.0"]), infer_kind(["1", "unknown"])
    ('int', 'str')
    """
    distinct = list(texts)
    kinds: tuple[LabelKind, ...] = ("int", "bool", "date")
    for kind in kinds:
        if all(parse_label(text, kind) is not None for text in distinct):
            return kind
    missing = [text for text in distinct if text in _WORDS_FOR_MISSING]
    numbers = [text for text in distinct if _INT.fullmatch(text) or _DECIMAL.fullmatch(text)]
    if missing and numbers and len(missing) + len(numbers) == len(distinct):
        raise InputError(
            f"Classes must have no missing values, got {show(missing)} among numbers.",
            hint="drop these samples, name it in `outcomes`, or list all classes as strings in"
            " `labels`.",
        )
    fractions = [text for text in numbers if not _INT.fullmatch(text)]
    if fractions and len(numbers) == len(distinct):
        raise InputError(
            f"Class names must be int, str, bool or date, got decimal numbers such as"
            f" {min(fractions)}.",
            hint="for scores use `scores`; if these are names, list them as strings in `labels`.",
        )
    return "str"


@dataclass(frozen=True, slots=True)
class ClassOptions:
    """Which values are classes and which are outcomes, as a caller asks for it.

    Attributes
    ----------
    labels : Classes or None
        The classes in order; None takes all that occur, sorted.
    outcomes : tuple of str
        Names that are no class.
    other : str or None
        The outcome that takes every prediction outside ``labels``.
    missing : str or None
        The outcome that takes missing predictions.
    normalize_text : bool
        Whether case and outer spaces of text are ignored.
    label_texts : tuple of str or None
        The classes as a person typed them, in place of ``labels``: they are of the type that the
        labels of the data turn out to have.
    """

    labels: Classes | None = None
    outcomes: tuple[str, ...] = ()
    other: str | None = None
    missing: str | None = None
    normalize_text: bool = False
    label_texts: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls,
        labels: Iterable[object] | None = None,
        outcomes: Iterable[object] | None = None,
        other: str | None = None,
        missing: str | None = None,
        normalize_text: bool = False,
        *,
        typed: bool = True,
    ) -> ClassOptions:
        """Validate what a caller asks for; labels that are not ``typed`` are text of a person."""
        classes = None if labels is None else Classes.of(labels)
        if other is not None and classes is None:
            raise InputError(
                "`other` takes the predictions outside `labels`, got no `labels`.",
                hint="list the classes, as in labels=['cat', 'dog'].",
            )
        given = [] if outcomes is None else list(Classes.of(outcomes, name="outcomes"))
        names = tuple(dict.fromkeys([*given, *(n for n in (other, missing) if n is not None)]))
        wrong = [name for name in names if not isinstance(name, str)]
        if wrong:
            raise InputError(f"Names of outcomes must be strings, got {show(wrong)}.")
        both = [name for name in names if classes is not None and name in classes]
        if both:
            raise InputError(
                f"An outcome must not be one of `labels`, got {show(both)} in both.",
                hint="leave it out of `labels`.",
            )
        texts = None if typed or classes is None else tuple(map(str, classes))
        chosen = classes if typed else None
        return cls(chosen, names, other, missing, normalize_text, texts)  # type: ignore[arg-type]

    def with_types(self, labels: Iterable[Label], *, is_text: bool) -> ClassOptions:
        """Return the options with the classes in the type of the labels of the data."""
        if self.label_texts is None:
            return self
        found = list(labels)
        kind = kind_of(found[0]) if found else None
        if is_text or kind is None:
            kind = infer_kind(map(str, found or self.label_texts))
        names = [parse_label(text, kind) for text in self.label_texts]
        if None in names:
            raise InputError(
                f"`labels` must be of the type of the classes, {kind}, got"
                f" {self.label_texts[names.index(None)]!r}.",
                hint=f"the data has {found[0]!r}, for instance.",
            )
        return replace(self, labels=Classes.of(names), label_texts=None)

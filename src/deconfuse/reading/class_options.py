"""Which values are classes and which are outcomes, as a caller asks for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from deconfuse._checks import Label, kind_of, show
from deconfuse.classes import Classes, infer_kind, parse_label
from deconfuse.errors import InputError

__all__ = ["ClassOptions"]


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

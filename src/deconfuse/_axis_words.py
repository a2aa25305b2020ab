r"""What the names of the axes of a table say: whether true classes are on rows, as they must be.

A corner names the rows, or rows and columns, as in ``Map \ Reference``; a data frame names each
axis. A word tells by itself what an axis holds ("predicted", "reference"), or only beside its
opposite ("model" where the other axis is "truth"), or also where it is all that the corner says
("map", "map class", but not "Land cover map" or "Map 2020", which may be titles). "class" and
"label" alone tell nothing. Who reads no sign of a transposed table takes it as true on rows.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

from deconfuse.errors import InputError

__all__ = ["refuse_transposed"]

_Kind: TypeAlias = Literal["true", "predicted"]

# Words that tell what an axis holds, whatever stands beside them.
_CLEAR: dict[_Kind, str] = {
    "true": "true ytrue truth truths groundtruth gt actual actuals reference references ref refs"
    " target targets observed gold referenz référence referencia riferimento verdad vérité",
    "predicted": "ypred yhat pred preds predict predicted prediction predictions classified mapped"
    " inferred recognized recognised forecast vorhersage vorhergesagt prédit prédite prédiction"
    " predicho predicción klassifiziert clasificado",
}
# Words that tell it where the other axis is of the other kind, or where they are all that a corner
# says, with no more than "class" beside.
_ALONE: dict[_Kind, str] = {
    "true": "real observation observations stimulus stimuli ground presented intended",
    "predicted": "map maps classification classifications assigned estimated estimate estimates"
    " simulated perceived karte carte mapa klassifikation clasificación classificazione",
}
# Words that tell it where the other axis is of the other kind.
_BESIDE: dict[_Kind, str] = {
    "true": "label labels annotation annotations annotated expert human manual validation field",
    "predicted": "response responses answer answers system algorithm automatic machine result"
    " results test hypothesis model classifier output outputs",
}
_NEUTRAL = """
    class classes classe label labels data category categories code codes value values name names
    type types id ids unit units stratum strata the of from s y
"""
_WORDS = {
    strength: {word: kind for kind, words in table.items() for word in words.split()}
    for strength, table in (("clear", _CLEAR), ("alone", _ALONE), ("beside", _BESIDE))
}

# What tells the axis itself, so that the order of the words does not.
_SAYS_WHERE = re.compile(
    r"(?<![a-z])(?:rows?|col(?:umn)?s?|across|down|as|to|into)(?![a-z])|->|<-|[→↓⇒←]", re.IGNORECASE
)
_BETWEEN = re.compile(r"[\\/|,;:&×\n]|\s[-–—]\s|\b(?:vs|versus|against)\b\.?", re.IGNORECASE)


class _Axis(NamedTuple):
    """What the name of an axis speaks of: for sure, and if the other axis is its opposite."""

    sure: _Kind | None = None
    perhaps: _Kind | None = None


def refuse_transposed(rows: object, columns: object = None) -> None:
    r"""Raise if the names of the axes say that predicted classes are on rows.

    Parameters
    ----------
    rows, columns : object
        The names of both axes; names that are no text say nothing. What stands in the corner of a
        table is given alone: it names the rows, or both, as in ``predicted \ true``.

    Examples
    --------
    >>> refuse_transposed("y_true", "y_pred")
    >>> refuse_transposed("Reference \\ Map")
    >>> refuse_transposed("label")
    >>> refuse_transposed("Map \\ Reference")
    Traceback (most recent call last):
    ...
    deconfuse.errors.InputError: Rows must be true classes and columns predicted ones, got ...
    """
    if columns is None and isinstance(rows, str):
        on_rows, on_columns = _corner(rows)
    else:
        on_rows, on_columns = _axis(rows), _axis(columns)
    first, second = _settled(on_rows, on_columns), _settled(on_columns, on_rows)
    if first == "true" or second == "predicted":
        return
    if first is None and second is None:
        return
    named = ((axis, name) for axis, name in (("rows", rows), ("columns", columns)) if name)
    raise InputError(
        "Rows must be true classes and columns predicted ones, got"
        f" {' and '.join(f'{name!r} as the name of {axis}' for axis, name in named)}.",
        hint="transpose the table (`.T` in pandas); if only the names are wrong, rename the axes.",
    )


def _corner(text: str) -> tuple[_Axis, _Axis]:
    """Return what a corner says of rows and columns."""
    parts = [part for part in _BETWEEN.split(text) if part.strip()]
    if _SAYS_WHERE.search(text):
        # "Map (rows), reference (columns)" tells more than the order; an arrow alone can mean both.
        placed = {
            side: [
                part
                for part in re.split(r"[\\/|,;&\n]", text)
                if re.search(side, part, re.IGNORECASE)
            ]
            for side in ("row", "col")
        }
        if any(len(found) != 1 for found in placed.values()) or placed["row"] == placed["col"]:
            return _Axis(), _Axis()
        return _axis(_unplaced(placed["row"][0])), _axis(_unplaced(placed["col"][0]))
    if len(parts) == 2:
        return _axis(parts[0]), _axis(parts[1])
    # Rows come first where both are named in one breath.
    clear = _clear(text)
    if not clear and len(parts) == 1 and (kind := _all_it_says(text)) is not None:
        return _Axis(kind), _Axis()
    return _axis(text), _Axis(clear[1] if len(clear) > 1 else None)


def _unplaced(part: str) -> str:
    return re.sub(r"\b(?:rows?|col(?:umn)?s?|on|in|are|is)\b", " ", part, flags=re.IGNORECASE)


def _axis(name: object) -> _Axis:
    if not isinstance(name, str):
        return _Axis()
    clear = _clear(name)
    if clear:
        return _Axis(clear[0])
    both = _WORDS["beside"] | _WORDS["alone"]
    perhaps = sorted(
        (word in _WORDS["beside"], both[word]) for word in _words(name) if word in both
    )
    return _Axis(None, perhaps[0][1] if perhaps else None)


def _all_it_says(corner: str) -> _Kind | None:
    """Return what a corner of one name speaks of, if of nothing else; a number makes it a title."""
    words = _words(corner)
    kinds = [_WORDS["alone"][word] for word in words if word in _WORDS["alone"]]
    is_all = all(word in _WORDS["alone"] or word in _NEUTRAL.split() for word in words)
    return kinds[0] if kinds and is_all and not re.search(r"\d", corner) else None


def _clear(name: str) -> list[_Kind]:
    """Return the kinds that a name speaks of for sure, in its order."""
    return list(
        dict.fromkeys(_WORDS["clear"][word] for word in _words(name) if word in _WORDS["clear"])
    )


def _words(name: str) -> list[str]:
    # mapClass and map_class are two words; y_hat and y_pred are one.
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return re.findall(r"[^\W\d_]+", re.sub(r"\by[ _]?hat", "yhat", spaced.lower()))


def _settled(axis: _Axis, other: _Axis) -> _Kind | None:
    """Return what an axis holds, where the other may settle what is not sure."""
    if axis.sure is not None or axis.perhaps is None:
        return axis.sure
    opposite = other.sure or other.perhaps
    return axis.perhaps if opposite is not None and opposite != axis.perhaps else None

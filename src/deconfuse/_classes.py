"""The algebra of class names: union, order and coarser groups of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from deconfuse._checks import Label, as_label, class_names, kind_of, show
from deconfuse.errors import InputError

__all__ = ["coarser", "reordered", "union"]


def union(mine: tuple[Label, ...], theirs: tuple[Label, ...]) -> tuple[Label, ...]:
    """Return all names: sorted if both are, else the first ones and then what the second adds.

    Sorted names stay sorted so that merging shards gives the matrix of counting them at once.

    Examples
    --------
    >>> union(("a", "c"), ("b", "c"))
    ('a', 'b', 'c')
    >>> union(("c", "a"), ("b", "c"))
    ('c', 'a', 'b')
    """
    if kind_of(mine[0]) != kind_of(theirs[0]):
        raise InputError(
            f"Merged matrices must name classes by one type, got {kind_of(mine[0])}"
            f" ({show(mine, 3)}) and {kind_of(theirs[0])} ({show(theirs, 3)}).",
            hint="rename the classes of one with `merge_classes`, as in {'cat': [0], 'dog': [1]}.",
        )
    if mine == theirs:
        return mine
    names = tuple(dict.fromkeys(mine + theirs))
    is_sorted = sorted(mine) == list(mine) and sorted(theirs) == list(theirs)
    return tuple(sorted(names)) if is_sorted else names


def reordered(names: tuple[Label, ...], wanted: Iterable[object]) -> tuple[Label, ...]:
    """Return ``wanted`` if it is ``names`` in another order."""
    order = class_names(wanted)
    if kind_of(order[0]) != kind_of(names[0]):
        raise InputError(
            f"`labels` must be of the type of the classes, got {kind_of(order[0])}"
            f" ({show(order, 3)}) for {kind_of(names[0])} ({show(names, 3)}).",
        )
    known, placed = set(names), set(order)
    unknown = [name for name in order if name not in known]
    if unknown:
        raise InputError(
            f"`labels` must be the classes of the matrix in another order, got {show(unknown)},"
            " which it does not have.",
            hint=f"the classes are {show(names)}.",
        )
    missing = [name for name in names if name not in placed]
    if missing:
        raise InputError(
            f"`labels` must be all classes of the matrix in another order, got none of"
            f" {show(missing)}.",
            hint="to join classes, use `merge_classes`.",
        )
    return order


def coarser(
    names: tuple[Label, ...], groups: Mapping[Any, Any]
) -> tuple[list[Label], tuple[Label, ...]]:
    """Return the group of each name (itself outside of groups), and the distinct groups in order.

    Examples
    --------
    >>> coarser(("cat", "car", "dog"), {"animal": ["cat", "dog"]})
    (['animal', 'car', 'animal'], ('animal', 'car'))
    """
    group_of = _memberships(names, groups)
    staying = set(names) - set(group_of)
    collisions = [name for name in dict.fromkeys(group_of.values()) if name in staying]
    if collisions:
        raise InputError(
            f"A group must not have the name of a class outside of it, got {show(collisions)}.",
            hint="add that class to the group, or name the group otherwise.",
        )
    targets = [group_of.get(name, name) for name in names]
    kinds = {kind_of(name) for name in targets}
    if len(kinds) > 1:
        others = [name for name in names if name in staying]
        raise InputError(
            f"Class names must be of one type, got groups {show(groups, 3)} beside classes that"
            f" stay as they are: {show(others, 3)}.",
            hint="put every class in a group; a group of one renames a class.",
        )
    return targets, tuple(dict.fromkeys(targets))


def _memberships(names: tuple[Label, ...], groups: object) -> dict[Label, Label]:
    if not isinstance(groups, Mapping) or not groups:
        raise InputError(
            "`groups` must map each new name to the classes it joins, got"
            f" {groups if isinstance(groups, Mapping) else type(groups).__name__}.",
            hint='write it as {"animal": ["cat", "dog"]}.',
        )
    known = set(names)
    group_of: dict[Label, Label] = {}
    for raw_name, members in groups.items():
        name = as_label(raw_name, name="groups")
        # The order of members has no effect, so a set of them will do.
        listed = sorted(members, key=repr) if isinstance(members, (set, frozenset)) else members
        for member in class_names(listed, name=f"groups[{raw_name!r}]"):
            # In Python True == 1, but the class True is not the class 1.
            if member not in known or kind_of(member) != kind_of(names[0]):
                raise InputError(
                    f"Members of `groups` must be classes of the matrix, got {member!r}.",
                    hint=f"the classes are {show(names)}.",
                )
            if member in group_of:
                raise InputError(
                    f"A class must be in one group only, got {member!r} in {group_of[member]!r}"
                    f" and in {name!r}.",
                )
            group_of[member] = name
    return group_of

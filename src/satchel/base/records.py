"""Dataclasses, named tuples and typed dictionaries that compile little, and import little."""

# The standard library's `dataclasses` takes twenty times as long to define a class, and long to import. Type checkers
# see its names, and `dataclasses.fields`, `asdict`, `replace` and `is_dataclass` accept these classes:
# docs/decisions/0033.

from __future__ import annotations

import operator
from functools import cache

TYPE_CHECKING = False  # keeps typing out of the start
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from dataclasses import dataclass, field, replace
    from typing import Any, NamedTuple, NoReturn, TypedDict

__all__ = ["NamedTuple", "TypedDict", "dataclass", "field", "field_names", "replace"]

_MISSING: Any = object()
_FIELDS, _OPTIONS = "__record_fields__", "__record_options__"
_COMPARISONS = {"__lt__": operator.lt, "__le__": operator.le, "__gt__": operator.gt, "__ge__": operator.ge}


# How many instances to create before compiling their constructor, which costs as much as creating 15 without it.
_UNCOMPILED = 10


class _Field:
    __slots__ = ("default", "factory", "kw_only", "options")

    def __init__(
        self,
        default: Any = _MISSING,
        factory: Callable[[], Any] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.default = default
        self.factory = factory
        self.kw_only = False
        self.options = options or {}

    def is_part_of(self, what: str) -> bool:
        return bool(self.options.get(what, True))

    def usual(self) -> Any:
        if self.factory is not None:
            return self.factory()
        if self.default is _MISSING:
            raise TypeError("a field has no default")
        return self.default


def field_names(record: object) -> tuple[str, ...] | None:
    """Return the names of the fields of a record or its class, in order; None for other objects."""
    fields = getattr(record, _FIELDS, None)
    return None if fields is None else tuple(fields)


def _field(*, default: Any = _MISSING, default_factory: Callable[[], Any] | None = None, **options: Any) -> Any:
    return _Field(default, default_factory, options)


def _replace(record: Any, /, **changes: Any) -> Any:
    cls: Any = type(record)
    names, values_of = _of_init(cls)
    return cls(**dict(zip(names, values_of(record), strict=False)) | changes)


@cache
def _of_init(cls: type) -> tuple[tuple[str, ...], Callable[[object], tuple[object, ...]]]:
    names = tuple(name for name, one in getattr(cls, _FIELDS).items() if one.is_part_of("init"))
    # a second name, since the getter of one name returns no tuple
    return names, operator.attrgetter(*names, "__class__")


def _dataclass(
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    repr: bool = True,  # noqa: A002 -- the name in dataclasses
    order: bool = False,
    kw_only: bool = False,
) -> Callable[[type], type]:
    def decorate(cls: type) -> type:
        inherited: dict[str, _Field] = {}
        for base in cls.__mro__[:0:-1]:
            inherited |= base.__dict__.get(_FIELDS, {})
        namespace = {name: value for name, value in cls.__dict__.items() if name not in {"__dict__", "__weakref__"}}
        own: dict[str, _Field] = {}
        for name, kind in namespace.get("__annotations__", {}).items():
            if not kind.startswith("ClassVar"):
                default = namespace.pop(name, _MISSING)
                own[name] = one = default if type(default) is _Field else _Field(default)
                one.kw_only = kw_only
                if one.default is not _MISSING and not slots:
                    namespace[name] = one.default
        if slots:
            namespace["__slots__"] = tuple(name for name in own if name not in inherited)
        options = {"frozen": frozen, "eq": eq, "repr": repr, "order": order}
        fields = inherited | own
        instances = 0

        def make_init(self: object, *arguments: object, **keywords: object) -> None:
            nonlocal instances
            instances += 1
            if instances > _UNCOMPILED or not _set_fields(self, fields, frozen, arguments, keywords):
                init = _init(made, frozen)
                made.__init__ = init  # type: ignore[misc] # the class is made here, and has no subclass with another
                init(self, *arguments, **keywords)

        methods = _methods(fields, options) | {"__init__": make_init, "__qualname__": cls.__qualname__}
        made: type = type(cls)(cls.__name__, cls.__bases__, methods | namespace)
        return made

    return decorate


def _methods(fields: Mapping[str, _Field], options: Mapping[str, bool]) -> dict[str, Any]:
    compared = [name for name, one in fields.items() if one.is_part_of("compare")]
    # with one name attrgetter returns the value itself, which compares and hashes as well
    values: Callable[[object], Any] = operator.attrgetter(*compared) if compared else type
    positional = tuple(name for name, one in fields.items() if one.is_part_of("init") and not one.kw_only)
    methods: dict[str, Any] = {_FIELDS: fields, _OPTIONS: options, "__match_args__": positional, **_MADE_ON_DEMAND}

    def comparison(compare: Callable[[Any, Any], bool]) -> Callable[[object, object], Any]:
        def compared_values(self: object, other: object) -> Any:
            return compare(values(self), values(other)) if type(other) is type(self) else NotImplemented

        return compared_values

    if options["frozen"]:
        methods |= {"__setattr__": _refuse, "__delattr__": _refuse, "__getstate__": _state, "__setstate__": _set_state}
    if options["repr"]:
        methods["__repr__"] = _repr
    if options["eq"]:
        methods["__eq__"] = comparison(operator.eq)
        methods["__hash__"] = (lambda self: hash(values(self))) if options["frozen"] else None
    if options["order"]:
        methods |= {name: comparison(compare) for name, compare in _COMPARISONS.items()}
    return methods


def _set_fields(
    record: Any, fields: Mapping[str, _Field], frozen: bool, arguments: Sequence[object], keywords: Mapping[str, object]
) -> bool:
    values = {**dict(zip(record.__match_args__, arguments, strict=False)), **keywords}
    if len(values) < len(arguments) + len(keywords):
        return False
    put = object.__setattr__ if frozen else setattr
    for name, one in fields.items():
        if name in values and one.is_part_of("init"):
            put(record, name, values.pop(name))
        elif one.factory is not None:
            put(record, name, one.factory())
        elif one.default is not _MISSING:
            put(record, name, one.default)
        elif one.is_part_of("init"):
            return False
    if not values and hasattr(record, "__post_init__"):
        record.__post_init__()
    return not values


def _refuse(_self: object, name: str, _value: object = None) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to or delete field {name!r}")


def _repr(self: Any) -> str:
    parts = [
        f"{name}={getattr(self, name)!r}" for name, one in getattr(self, _FIELDS).items() if one.is_part_of("repr")
    ]
    return f"{type(self).__qualname__}({', '.join(parts)})"


def _state(self: object) -> list[Any]:
    return [getattr(self, name) for name in getattr(self, _FIELDS)]


def _set_state(self: object, state: list[Any]) -> None:
    for name, value in zip(getattr(self, _FIELDS), state, strict=True):
        object.__setattr__(self, name, value)


def _init(cls: Any, frozen: bool) -> Callable[..., None]:
    fields: Mapping[str, _Field] = getattr(cls, _FIELDS)
    namespace: dict[str, Any] = {"__set": object.__setattr__, "__missing": _MISSING}
    positional, keyword_only, body = ["self"], list[str](), list[str]()
    for name, one in fields.items():
        value = name
        if not one.is_part_of("init"):
            if one.factory is None:
                continue
            value = f"__factory_{name}()"
        elif one.factory is not None:
            value = f"__factory_{name}() if {name} is __missing else {name}"
        namespace[f"__factory_{name}"] = one.factory
        namespace[f"__default_{name}"] = one.default
        has_default = one.factory is not None or one.default is not _MISSING
        default = "__missing" if one.factory is not None else f"__default_{name}"
        if one.is_part_of("init"):
            (keyword_only if one.kw_only else positional).append(f"{name}={default}" if has_default else name)
        setter = getattr(getattr(cls, name, None), "__set__", None)
        if not frozen:
            body.append(f"self.{name} = {value}")
        elif setter is not None:
            namespace[f"__set_{name}"] = setter
            body.append(f"__set_{name}(self, {value})")
        else:
            body.append(f"__set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join([*positional, *(["*", *keyword_only] if keyword_only else [])])
    exec(f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"]), namespace)  # noqa: S102 -- our own fields
    init: Callable[..., None] = namespace["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


class _OnDemand:
    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, _instance: object, owner: type) -> Any:
        import dataclasses
        import inspect

        cls: Any = next(base for base in owner.__mro__ if _FIELDS in base.__dict__)
        fields = []
        for name, one in getattr(cls, _FIELDS).items():
            options = dict(one.options) | {"kw_only": one.kw_only}
            if one.factory is not None:
                options["default_factory"] = one.factory
            elif one.default is not _MISSING:
                options["default"] = one.default
            kind = next(base.__annotations__[name] for base in cls.__mro__ if name in base.__annotations__)
            fields.append((name, kind, dataclasses.field(**options)))
        twin = dataclasses.make_dataclass(cls.__name__, fields, **getattr(cls, _OPTIONS))
        value = inspect.signature(twin) if self._name == "__signature__" else getattr(twin, self._name)
        setattr(cls, self._name, value)
        return value


_MADE_ON_DEMAND = {name: _OnDemand(name) for name in ("__dataclass_fields__", "__dataclass_params__", "__signature__")}


class _NamedTupleMeta(type):
    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        fields = tuple(namespace.get("__annotations__", ()))
        defaults = {field: namespace.pop(field) for field in fields if field in namespace}
        getters = {field: property(operator.itemgetter(place)) for place, field in enumerate(fields)}
        made: Any = super().__new__(
            cls, name, bases, {"__slots__": (), "__match_args__": fields, "_fields": fields, **getters, **namespace}
        )
        made._field_defaults = defaults
        return made


class _NamedTuple(tuple, metaclass=_NamedTupleMeta):  # type: ignore[type-arg]
    _fields: tuple[str, ...]
    _field_defaults: dict[str, Any]
    _instances = 0

    def __new__(cls, *arguments: Any, **keywords: Any) -> Any:
        defaults = cls._field_defaults
        others = cls._fields[len(arguments) :]
        cls._instances += 1
        if cls._instances <= _UNCOMPILED and len(arguments) + len(others) == len(cls._fields):
            values_of = defaults | keywords if keywords else defaults
            if keywords.keys() <= {*others} and values_of.keys() >= {*others}:
                return tuple.__new__(cls, (*arguments, *map(values_of.__getitem__, others)))
        parameters = ", ".join(f"{name}=__defaults[{name!r}]" if name in defaults else name for name in cls._fields)
        namespace: dict[str, Any] = {"__make": tuple.__new__, "__defaults": defaults}
        values = ", ".join(cls._fields)
        exec(f"def __new__(_cls, {parameters}):\n return __make(_cls, ({values},))", namespace)  # noqa: S102 -- our own
        cls.__new__ = namespace["__new__"]  # type: ignore[method-assign]
        return cls(*arguments, **keywords)

    @classmethod
    def _make(cls, values: Iterable[Any]) -> Any:
        return cls(*values)

    def _replace(self, **changes: Any) -> Any:
        return type(self)(**(self._asdict() | changes))

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._asdict().items())})"


class _TypedDict:
    # its keys are all that is looked at; the standard library compiles an expression for each
    def __init_subclass__(cls, **_options: bool) -> None:
        cls.__annotations__ = {**cls.__mro__[1].__annotations__, **cls.__annotations__}


if not TYPE_CHECKING:
    dataclass, field, replace, NamedTuple, TypedDict = _dataclass, _field, _replace, _NamedTuple, _TypedDict

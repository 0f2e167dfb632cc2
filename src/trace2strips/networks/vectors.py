"""Vectors of numbers for kernels: a row of a few coordinates in registers.

LLVM makes vector code of loops by itself where the loop is long; here the vector is one row of an array, as long as the
type says, and stays in registers over a loop. Known to compiled code only. May import `compilation`.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model


class Vector(types.Type):
    """`size` numbers of a kind."""

    def __init__(self, kind: types.Float, size: int) -> None:
        self.kind, self.size = kind, size
        super().__init__(name=f"Vector({kind}, {size})")


@register_model(Vector)
class VectorModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, vector: Vector) -> None:
        number = manager.lookup(vector.kind).get_value_type()
        super().__init__(manager, vector, ir.VectorType(number, vector.size))


def place(context: Any, builder: ir.IRBuilder, array_type: Any, array: Any, index: Any, vector: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), context.get_value_type(vector).as_pointer())


@intrinsic
def load(_, array, index, template):  # type: ignore[no-untyped-def]
    """The row of len(template) numbers that begins at this index of a flat array."""
    vector = Vector(array.dtype, template.count)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        where = place(context, builder, signature.args[0], arguments[0], arguments[1], vector)
        return builder.load(where, align=array.dtype.bitwidth // 8)

    return vector(array, index, template), generate


@intrinsic
def store(_, array, index, row):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        where = place(context, builder, signature.args[0], arguments[0], arguments[1], row)
        builder.store(arguments[2], where, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.none(array, index, row), generate


@intrinsic
def add_times(_, factor, row, total):  # type: ignore[no-untyped-def]
    """factor · row + total, rounded once."""

    def generate(_, builder, __, arguments):  # type: ignore[no-untyped-def]
        number, x, y = arguments
        kind, size = x.type, row.size
        one = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), size), [0] * size)
        all_of_them = builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), zeros)
        name = f"llvm.fma.v{size}f{row.kind.bitwidth}"
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind] * 3), name)
        return builder.call(function, [all_of_them, x, y])

    return row(factor, row, total), generate

"""Display of a tree as one line of readable text, which is never used for comparison."""

from __future__ import annotations

from rewardkit.rewards.math.tree.nodes import (
    Add,
    App,
    Based,
    BigOp,
    Builder,
    Cases,
    Const,
    Date,
    Degree,
    Div,
    Fn,
    Linear,
    Logic,
    Matrix,
    Mul,
    NamedValue,
    Node,
    Num,
    Part,
    Percent,
    Pm,
    Pow,
    Quantity,
    Ratio,
    Rel,
    Seq,
    SetOp,
    Sym,
    Text,
    Time,
)

_CLOSING = {"(": ")", "[": "]", "{": "}", "": ""}


def show(node: Node) -> str:
    """Return a tree as readable text with explicit brackets."""
    match node:
        case Num(num=num, den=den, places=places):
            digits = num.bit_length()
            if digits > 4_000:
                return f"<integer of {digits} bits>"
            value = str(num) if den == 1 else f"{num}/{den}"
            return value if places is None else f"{value} (to {places} places)"
        case Const(name=name) | Sym(name=name):
            return name
        case Add(terms=terms):
            return "(" + " + ".join(map(show, terms)) + ")"
        case Mul(factors=factors):
            return " * ".join(map(show, factors))
        case Div(top=a, bottom=b):
            return f"({show(a)})/({show(b)})"
        case Pow(base=a, exponent=b):
            return f"({show(a)})^({show(b)})"
        case Fn(name=name, args=args) | App(name=name, args=args):
            return f"{name}({', '.join(map(show, args))})"
        case BigOp(op=op, var=var, lower=lower, upper=upper, body=body):
            ends = [show(end) if end is not None else "?" for end in (lower, upper)]
            return f"{op}({show(body)}, {var} from {ends[0]} to {ends[1]})"
        case Pm(value=a, flipped=flipped):
            return f"{'∓' if flipped else '±'}{show(a)}"
        case Percent(value=a):
            return f"{show(a)} percent"
        case Degree(value=a):
            return f"{show(a)} degrees"
        case Based(digits=digits_text, base=base):
            return f"{digits_text} in base {base}"
        case Quantity(value=a, unit=unit):
            return f"{show(a)} [{unit}]"
        case Matrix(rows=rows):
            return "matrix[" + "; ".join(", ".join(map(show, row)) for row in rows) + "]"
        case Cases(rows=rows):
            return "cases[" + "; ".join(f"{show(value)} if {show(when)}" for value, when in rows) + "]"
        case Ratio(parts=parts):
            return " : ".join(map(show, parts))
        case Time(minutes=minutes, meridiem=mark):
            return f"{minutes // 60}:{minutes % 60:02}{mark and f' {mark}m'}"
        case Date(year=year, month=month, day=day):
            return f"{year or 'any year'}-{month:02}-{day:02}"
        case Text(text=text):
            return f'"{text}"'
    return _show_set(node)


def _show_set(node: Node) -> str:
    match node:
        case Seq(opening=opening, closing=closing, items=items):
            kind = {"": "list", "{": "set"}.get(opening, "")
            return f"{kind}{opening or '<'}{', '.join(map(show, items))}{closing or '>'}"
        case SetOp(op=op, parts=parts):
            return f" {op} ".join(map(show, parts))
        case Rel(ops=ops, sides=sides):
            return show(sides[0]) + "".join(f" {op} {show(s)}" for op, s in zip(ops, sides[1:], strict=False))
        case Logic(op=op, parts=parts):
            return f" {op} ".join(f"[{show(p)}]" for p in parts)
        case Linear(value=value):
            return show(value)
        case NamedValue(name=name, value=value):
            return f"{show(name)} is {show(value)}"
        case Part(label=label, value=value):
            return f"part {label}: {show(value)}"
        case Builder(head=head, condition=condition):
            return f"{{{show(head)} : {show(condition)}}}"
    return type(node).__name__

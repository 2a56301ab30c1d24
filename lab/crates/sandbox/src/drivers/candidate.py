# The program under test, alone in its sandbox: it is loaded, and called as often as it is asked. Whatever it does to this file's code
# it can only answer with values, as it could by returning them.
from _collections import defaultdict

# what yields values one by one; those that a program makes itself are objects of its own
YIELDS = tuple(map(type, ((lambda: (yield))(), map(abs, ()), filter(None, ()), zip(), enumerate(()), reversed([]), iter([]), iter(()), iter({}))))
MAX_YIELDED = 10000


def answer_of(value, args, kwargs):
    """What a call gave. What it yields is told as a list, since nobody on the other side can ask for one value more."""
    if type(value) is defaultdict:
        return ("value", dict(value), args, kwargs)
    if type(value) not in YIELDS:
        return ("value", value, args, kwargs)
    try:
        items = yielded(value)
        for item in items or ():
            # no plain value is equal to one of these, and who asks for its values gets what it raises: either way the test fails
            if type(item) in YIELDS:
                yielded(item)
    except BaseException as error:
        return raised(error)
    return ("value" if items is None else "items", value if items is None else items, args, kwargs)


def yielded(value):
    """All that is yielded; none if that does not soon come to an end."""
    items = []
    for item in value:
        items.append(item)
        if len(items) > MAX_YIELDED:
            return None
    return items


def raised(error):
    name, text = problem(error)
    return ("raise", name, text, [base.__name__ for base in type(error).__mro__])


def main():
    _, source, entry_point, seed = receive()
    names = module("program", source, seed)
    try:
        exec(compile(source, "program.py", "exec"), names)
    except BaseException as error:
        send(("load", *problem(error)))
        return
    if entry_point and not callable(names.get(entry_point)):
        send(("load", "NameError", "there is no function `" + entry_point + "`"))
        return
    send(("ready",))
    while True:
        _, args, kwargs = receive()
        try:
            value = names[entry_point](*args, **kwargs)
        except BaseException as error:
            answer = raised(error)
        else:
            answer = answer_of(value, args, kwargs)
        try:
            send(answer)
        except Odd as odd:
            send(("odd", str(odd)))
        except BaseException as error:
            send(("odd", "not a plain value: " + problem(error)[0]))


main()

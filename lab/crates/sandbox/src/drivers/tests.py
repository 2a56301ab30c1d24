# The tests, in a sandbox of their own: the function under test is a stub, whose calls go to the program in the other one.
import builtins


class Dead(BaseException):
    """The program under test is gone."""


def restore(old, new):
    """What a call did to an argument is done to the caller's."""
    if type(old) is not type(new):
        return
    if type(old) is list and old != new:
        old[:] = new
    elif type(old) is dict and old != new:
        old.clear()
        old.update(new)
    elif type(old) is set and old != new:
        old.clear()
        old.update(new)


def main():
    _, source, call, entry_point, seed = receive()
    state = {"end": None, "calls": 0}

    def stub(*args, **kwargs):
        if state["end"] is not None:
            raise Dead
        state["calls"] += 1
        try:
            send(("call", list(args), kwargs))
        except Odd as odd:
            state["end"] = ("shared", str(odd))
            raise Dead from None
        answer = receive()
        if answer[0] in ("value", "items"):
            for old, new in zip(args, answer[2]):
                restore(old, new)
            return iter(answer[1]) if answer[0] == "items" else answer[1]
        if answer[0] == "raise":
            kind = None
            for name in answer[3]:
                kind = getattr(builtins, name, None)
                if isinstance(kind, type) and issubclass(kind, BaseException):
                    break
            else:
                kind = Exception
            if not issubclass(kind, Exception):
                state["end"] = ("fail", "the program raised " + answer[1])
                raise Dead
            error = kind.__new__(kind, answer[2])
            error.args = (answer[2],)
            error.of_the_program = True
            raise error
        state["end"] = ("odd", answer[1])
        raise Dead

    stub.__name__ = entry_point or "f"
    names = module("tests", source, seed)
    if entry_point:
        names[entry_point] = stub

    def line(error):
        at = 0
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == "tests.py":
                at = trace.tb_lineno
            trace = trace.tb_next
        lines = source.split("\n")
        return lines[at - 1].strip()[:300] if 0 < at <= len(lines) else ""

    try:
        exec(compile(source, "tests.py", "exec"), names)
        if call:
            exec(compile(call, "call.py", "exec"), names)
        # tests that nothing runs, such as functions that only a framework would call, have tested nothing
        end = ("pass",) if state["calls"] or not entry_point else ("odd", "the tests never called " + entry_point)
    except Dead:
        end = ("odd", "the program is gone")
    except NameError as error:
        if getattr(error, "of_the_program", False):
            end = ("fail", "NameError: " + str(error))
        else:
            end = ("shared", str(getattr(error, "name", "") or error))
    except (SyntaxError, ImportError) as error:
        # the tests' own fault, which says nothing of the program
        of_the_program = getattr(error, "of_the_program", False)
        end = ("fail" if of_the_program else "odd", ("" if of_the_program else "the tests do not load: ") + ": ".join(problem(error)))
    except AssertionError as error:
        end = ("fail", line(error) or "assertion failed")
    except BaseException as error:
        end = ("fail", ": ".join(problem(error)) + (" at `" + line(error) + "`" if line(error) else ""))
    send(("end", *(state["end"] or end)))
    # what an interpreter does at its end takes time, and nothing of it is wanted
    leave()


main()

# Program and tests in one process, where a stub cannot stand for the program. The word that says that the last test was reached comes
# only after the program has been loaded.
def main():
    _, source, tests, call, seed = receive()
    names = module("program", source + tests, seed)
    try:
        exec(compile(source, "program.py", "exec"), names)
    except BaseException as error:
        send(("load", *problem(error)))
        return
    send(("ready",))
    _, word = receive()
    try:
        exec(compile(tests, "tests.py", "exec"), names)
        if call:
            exec(compile(call, "call.py", "exec"), names)
        end = ("pass", word)
    except BaseException as error:
        end = ("fail", ": ".join(problem(error)))
    send(("end", *end))


main()

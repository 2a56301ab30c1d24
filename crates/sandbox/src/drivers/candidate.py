# The program under test, alone in its sandbox: it is loaded, and called as often as it is asked. Whatever it does to this file's code
# it can only answer with values, as it could by returning them.
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
            name, text = problem(error)
            bases = [base.__name__ for base in type(error).__mro__]
            answer = ("raise", name, text, bases)
        else:
            answer = ("value", value, args, kwargs)
        try:
            send(answer)
        except Odd as odd:
            send(("odd", str(odd)))
        except BaseException as error:
            send(("odd", "not a plain value: " + problem(error)[0]))


main()

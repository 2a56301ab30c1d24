# 11: many files
def many():
    for at in range(int(GIVEN["number"])):
        os.close(os.open(GIVEN["scratch"] + "/many%d" % at, os.O_CREAT | os.O_WRONLY))

attempt("many files", many)
import time
time.sleep(1)

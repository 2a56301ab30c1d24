# 11: many files
def many():
    for at in range(30000):
        os.close(os.open(GIVEN["scratch"] + "/many%d" % at, os.O_CREAT | os.O_WRONLY))

attempt("30000 files", many)
import time
time.sleep(1)

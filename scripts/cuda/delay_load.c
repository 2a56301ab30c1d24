/* Functions of a shared library that is opened when one of them is called first.
 *
 * Compiled once for each library by build.py, which defines
 *   LIBRARY    the file to open, e.g. "libcublas.so.13"
 *   TAG        the library's name, for symbols
 *   FUNCTIONS  a file with a line FUNCTION(i, name) for each function, i from 0
 *   COUNT      their number
 *   FIRST      optional: a library that LIBRARY itself will look for by this name
 *   STATUS     what every function returns where the library, or the function in it, is missing
 *
 * Each function jumps through a slot. While the slot is empty it goes to `resolve`, which must leave every argument
 * register as it was: the signature is not known here. x86-64, System V calling convention. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define SLOTS JOIN(delay_load_slots_, TAG)
#define ENTRY JOIN(delay_load_entry_, TAG)
#define RESOLVE JOIN(delay_load_resolve_, TAG)
#define HIDDEN __attribute__((visibility("hidden"), used))

HIDDEN void *SLOTS[COUNT];

static const char *const names[COUNT] = {
#define FUNCTION(i, name) [i] = #name,
#include FUNCTIONS
#undef FUNCTION
};

static long missing(void) { return STATUS; }

/* Threads that come here together open the library more than once, which only counts references. */
HIDDEN void *RESOLVE(unsigned long i) {
    static int said;
#ifdef FIRST
    dlopen(FIRST, RTLD_NOW | RTLD_LOCAL); /* if it is not there, LIBRARY says so */
#endif
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library && !said) {
        said = 1;
        fprintf(stderr, "cannot open the library %s\n", dlerror());
    }
    void *function = library ? dlsym(library, names[i]) : NULL;
    if (!function) function = (void *)missing;
    __atomic_store_n(&SLOTS[i], function, __ATOMIC_RELEASE);
    return function;
}

/* On entry the stack holds the function's number and, above it, the caller's return address: aligned to 16 bytes. */
__asm__(
    ".text\n"
    ".type " TEXT(ENTRY) ", @function\n"
    TEXT(ENTRY) ":\n"
    "push %rax\n push %rdi\n push %rsi\n push %rdx\n push %rcx\n push %r8\n push %r9\n"
    "sub $136, %rsp\n"
    "movups %xmm0, (%rsp)\n movups %xmm1, 16(%rsp)\n movups %xmm2, 32(%rsp)\n movups %xmm3, 48(%rsp)\n"
    "movups %xmm4, 64(%rsp)\n movups %xmm5, 80(%rsp)\n movups %xmm6, 96(%rsp)\n movups %xmm7, 112(%rsp)\n"
    "mov 192(%rsp), %rdi\n"
    "call " TEXT(RESOLVE) "\n"
    "mov %rax, %r11\n"
    "movups (%rsp), %xmm0\n movups 16(%rsp), %xmm1\n movups 32(%rsp), %xmm2\n movups 48(%rsp), %xmm3\n"
    "movups 64(%rsp), %xmm4\n movups 80(%rsp), %xmm5\n movups 96(%rsp), %xmm6\n movups 112(%rsp), %xmm7\n"
    "add $136, %rsp\n"
    "pop %r9\n pop %r8\n pop %rcx\n pop %rdx\n pop %rsi\n pop %rdi\n pop %rax\n"
    "add $8, %rsp\n"
    "jmp *%r11\n");

#define FUNCTION(i, name)                                                                                             \
    __asm__(".text\n .globl " #name "\n .type " #name ", @function\n" #name ":\n"                                      \
            "mov " TEXT(SLOTS) "+8*" #i "(%rip), %r11\n"                                                               \
            "test %r11, %r11\n jz 1f\n jmp *%r11\n"                                                                    \
            "1: push $" #i "\n jmp " TEXT(ENTRY) "\n");
#include FUNCTIONS

/* shim.c: which call fails, and what is reported; see shim.h. */
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef int (*main_function)(int argc, char **argv, char **environment);
typedef int (*start_function)(main_function main, int argc, char **argv, void (*init)(void),
                              void (*fini)(void), void (*loader_fini)(void), void *stack_end);

int __libc_start_main(main_function main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*loader_fini)(void), void *stack_end);

static unsigned kinds; /* counted; 0: not yet, or not this process */
static int64_t target;
static bool onward;
enum { SHORT = 0, KILL = -1, CUT = -2 };
static int how; /* errno, or one of these */
static _Atomic int64_t calls;
static _Atomic int64_t injected;
static char met[512] = "-"; /* path of the first fault */
static uintptr_t own_begin, own_end;
static main_function real_main;

static const struct {
    const char *name;
    unsigned kinds;
} names[] = {
    {"own-memory", SHIM_OWN_MEMORY},
    {"memory", SHIM_OWN_MEMORY | SHIM_OTHER_MEMORY},
    {"open", SHIM_OPEN},
    {"read", SHIM_READ},
    {"write", SHIM_WRITE},
    {"sync", SHIM_SYNC},
    {"rename", SHIM_RENAME},
    {"close", SHIM_CLOSE},
    {"any", SHIM_OPEN | SHIM_READ | SHIM_WRITE | SHIM_SYNC | SHIM_RENAME | SHIM_CLOSE},
};

/* Without stdio and memory, which may be under way. */
static void report(void)
{
    const char *path = getenv("FAULT_REPORT");
    const int descriptor =
        path != NULL ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    if (descriptor >= 0) {
        char line[640];
        const int length = snprintf(line, sizeof line, "%lld %lld %lld %s\n", (long long)atomic_load(&calls),
                                    (long long)atomic_load(&injected), (long long)shim_blocks(), met);
        (void)syscall(SYS_write, descriptor, line, (size_t)length);
        (void)syscall(SYS_close, descriptor);
    }
}

shim_verdict shim_decide(shim_kind kind, const char *path)
{
    if ((kinds & kind) == 0) {
        return SHIM_PASS;
    }
    const int64_t number = atomic_fetch_add(&calls, 1) + 1;
    if (how == CUT && target > 0 && number > target && path != NULL && strcmp(path, met) == 0) {
        return SHIM_END;
    }
    if (number != target && !(onward && number > target && target > 0)) {
        return SHIM_PASS;
    }
    if (atomic_fetch_add(&injected, 1) == 0 && path != NULL) {
        (void)snprintf(met, sizeof met, "%s", path);
    }
    if (how == KILL) {
        report();
        (void)kill(getpid(), SIGKILL);
    }
    if (how == SHORT || how == CUT) {
        return SHIM_SHORT;
    }
    errno = how;
    return SHIM_FAIL;
}

bool shim_is_own(const void *address)
{
    return (uintptr_t)address >= own_begin && (uintptr_t)address < own_end;
}

/* The first object is the program. */
static int find_own(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    (void)user;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X) != 0) {
            own_begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            own_end = own_begin + info->dlpi_phdr[i].p_memsz;
        }
    }
    return 1;
}

static int counted_main(int argc, char **argv, char **environment)
{
    const char *kind = getenv("FAULT_KIND");
    const char *at = getenv("FAULT_AT");
    const char *manner = getenv("FAULT_HOW");
    (void)unsetenv("LD_PRELOAD"); /* for programs that it starts */
    const char *program = strrchr(argv[0], '/');
    program = program != NULL ? program + 1 : argv[0];
    if (kind != NULL && at != NULL && manner != NULL && strcmp(program, "nadir") == 0) {
        target = strtoll(at, NULL, 10);
        onward = getenv("FAULT_ON") != NULL;
        how = strcmp(manner, "kill") == 0  ? KILL
              : strcmp(manner, "cut") == 0 ? CUT
                                           : (int)strtol(manner, NULL, 10);
        (void)dl_iterate_phdr(find_own, NULL);
        shim_watch_output();
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            if (strcmp(names[i].name, kind) == 0) {
                kinds = names[i].kinds;
            }
        }
    }
    return real_main(argc, argv, environment);
}

SHIM_PUBLIC int __libc_start_main(main_function main, int argc, char **argv, void (*init)(void),
                                  void (*fini)(void), void (*loader_fini)(void), void *stack_end)
{
    void *found = dlsym(RTLD_NEXT, "__libc_start_main");
    start_function start;
    memcpy(&start, &found, sizeof start);
    real_main = main;
    return start(counted_main, argc, argv, init, fini, loader_fini, stack_end);
}

__attribute__((destructor)) static void end(void)
{
    if (kinds != 0) {
        kinds = 0;
        report();
    }
}

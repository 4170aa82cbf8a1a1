/*
 * shim.h: a library put before the nadir command by LD_PRELOAD, which makes the k-th call of some kind fail.
 *
 * Its orders come from the environment: FAULT_KIND and FAULT_AT say which calls are counted and which of them
 * fails; FAULT_HOW what then happens: a number is errno, 0 half of the bytes, "kill" SIGKILL before the call,
 * "cut" half of the bytes and then no more of this file, as if it had become shorter meanwhile; FAULT_ON=1:
 * all later calls of the kind fail, too. At the end one line goes to the file FAULT_REPORT: calls counted,
 * faults injected, blocks of the command's own that were never freed, and the path that the first fault met
 * ("-": none).
 *
 * Counting begins with main: what libraries do while they are loaded is not ours. Nor are /proc, /sys and
 * /dev, which only tell of the machine. Kinds of allocation are told apart by the caller: that of the
 * command's own code, or that of anyone.
 */
#ifndef NADIR_TESTS_SHIM_H
#define NADIR_TESTS_SHIM_H

#include <stdbool.h>
#include <stdint.h>

typedef enum shim_kind {
    SHIM_OWN_MEMORY = 1,
    SHIM_OTHER_MEMORY = 2,
    SHIM_OPEN = 4,
    SHIM_READ = 8,
    SHIM_WRITE = 16,
    SHIM_SYNC = 32,
    SHIM_RENAME = 64,
    SHIM_CLOSE = 128
} shim_kind;

typedef enum shim_verdict { SHIM_PASS, SHIM_FAIL, SHIM_SHORT, SHIM_END } shim_verdict;

/* What is to become of this call; errno is set for SHIM_FAIL. */
shim_verdict shim_decide(shim_kind kind, const char *path);

/* Whether an address lies in the code of the command itself. */
bool shim_is_own(const void *address);

/* Blocks of the command that are in use. */
int64_t shim_blocks(void);

/* From now on standard output is watched. */
void shim_watch_output(void);

#define SHIM_PUBLIC __attribute__((visibility("default")))

#endif

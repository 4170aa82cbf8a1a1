/*
 * sweep.h: the nadir command run again and again, each time with another call failing; see shim.h.
 *
 * A scenario is one command. It writes into the folder "out", whose files are named; what it reads lies
 * beside that folder. Before each run the outputs are either not there or old; afterwards each is as before,
 * or what a run without faults writes.
 */
#ifndef NADIR_TESTS_SWEEP_H
#define NADIR_TESTS_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct scenario {
    const char *name;
    const char *command; /* words between spaces */
    const char *outputs; /* names in the folder "out", between spaces; "~name": differs from run to run;
                            "/": the command owns the folder out/all */
    const char *again;   /* words that make the command go on, once the file `stage` is there; or NULL */
    const char *stage;
    bool computes; /* it reads and writes nothing that others do not: for memory alone */
} scenario;

extern const scenario scenarios[];
extern const int scenarios_count;
/* Commands that make what the scenarios read; ends with NULL. */
extern const char *const preparations[];

/* What is to fail. */
typedef struct fault_order {
    const char *kind; /* of shim.h */
    int64_t at;       /* 0: nothing fails */
    const char *how;
    bool onward;
} fault_order;

/* How a run ended. */
typedef struct outcome {
    int status; /* exit status; 256 + n: signal n */
    int64_t calls, injected, leaks;
    char met[512];   /* path that the fault met */
    char said[8192]; /* on stderr */
    char out[65536]; /* on stdout */
} outcome;

/* Where the command and the shim are; how much is to be done. */
typedef struct place {
    const char *program;
    const char *shim;
    bool everything;
    int64_t moment; /* microseconds after which the next run is killed; 0: it is not */
    int64_t faults, runs, complaints;
} place;

/* `extra`: more words, or NULL. */
void child_run(const place *at, const char *command, const char *extra, const fault_order *fault,
               outcome *result);

/* The whole file, to be freed; NULL: not there. */
char *read_whole(const char *path, size_t *size);
void write_whole(const char *path, const char *text);

#endif

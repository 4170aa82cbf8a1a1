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

enum { OUTPUTS = 8 };

/* One way to fail. */
typedef struct way {
    const char *kind, *how;
    bool onward;
} way;

typedef enum expectation { NOTHING_LOST, SURVIVED, KILLED, KILLED_ANYWHEN } expectation;

typedef struct sweep_part {
    const char *name;
    expectation expected;
    int64_t sample; /* runs of one scenario and way, unless all are asked for */
    way ways[12];
} sweep_part;

/* A scenario under way. */
typedef struct study {
    place *at;
    const scenario *of;
    const sweep_part *part;
    fault_order fault;
    int outputs;
    char names[OUTPUTS][64];
    bool varies[OUTPUTS];
    bool folder;
    char *wanted[OUTPUTS];
    size_t sizes[OUTPUTS];
    int64_t leaks; /* of a run without faults */
    size_t report_size;
} study;

/* The path of an output. */
void output_path(const study *s, int i, char path[128]);
/* What stands there before a run: nothing, or something old. */
#define OLD "what stood here before\n"
void outputs_set(const study *s, bool old);
/* How many files there are in the folder, and how many that are meant to go. */
void outputs_count(int64_t *files, int64_t *temporaries);

typedef enum found { ABSENT, STALE, WHOLE, WRONG } found;
found output_look(const study *s, int i);
bool outputs_whole(const study *s);

#endif

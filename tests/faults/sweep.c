/*
 * sweep.c: the k-th call fails, k = 1, 2, ...: in every run the command ends cleanly, says which file, leaves
 * whole files or none, and never calls it a success when something was lost; see sweep.h.
 *
 *     sweep NADIR SHIM PART [SCENARIO]
 *
 * PART is one of the rows of `parts`. Long scenarios are sampled; with NADIR_FAULTS=all every k is tried.
 */
#include "sweep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define READING "reading " /* before the paths of files that are only read */
#define OUTPUT  "standard output"

static const sweep_part parts[] = {
    {"own_memory", NOTHING_LOST, 12, {{"own-memory", "12", false}, {"own-memory", "12", true}}},
    {"memory", NOTHING_LOST, 12, {{"memory", "12", false}}},
    {"errors",
     NOTHING_LOST,
     4,
     {{"open", "5", false},
      {"read", "5", false},
      {"read", "cut", false},
      {"write", "5", false},
      {"write", "28", true},
      {"sync", "5", false},
      {"rename", "5", false},
      {"close", "5", false}}},
    {"interruptions",
     SURVIVED,
     3,
     {{"open", "4", false},
      {"read", "4", false},
      {"read", "0", false},
      {"read", "0", true},
      {"write", "4", false},
      {"write", "0", false},
      {"write", "0", true},
      {"sync", "4", false},
      {"close", "4", false}}},
    {"kill", KILLED, 10, {{"any", "kill", false}}},
    {"moments", KILLED_ANYWHEN, 4, {{"any", "0", false}}},
};

static void complain(const study *s, const outcome *seen, const char *what)
{
    s->at->complaints++;
    printf("FAILED: %s: %s\n  nadir %s\n  call %" PRId64 " of kind %s%s, %s; it met %s\n  exit %d\n%s",
           s->of->name, what, s->of->command, s->fault.at, s->fault.kind,
           s->fault.onward ? " and all after" : "", s->fault.how, seen->met, seen->status, seen->said);
    (void)fflush(stdout);
}

/* ----------------------------------------------------------------------------------------------- judgement
 */

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* The file that a path stands for: without the folder and what a temporary name adds. */
static void plain_name(const char *path, char name[512])
{
    const char *start = begins(path, READING) ? path + strlen(READING) : path;
    const char *slash = strrchr(start, '/');
    (void)snprintf(name, 512, "%s", slash != NULL ? slash + 1 : start);
    char *end = strstr(name, ".tmp");
    while (end != NULL && end > name && strchr("0123456789-", end[-1]) != NULL) {
        end--;
    }
    if (end != NULL && end > name) {
        end[-1] = '\0';
    }
}

static bool is_memory(const fault_order *fault)
{
    return strstr(fault->kind, "memory") != NULL;
}

/* Whether a failure of this call may go unnoticed: nothing that was asked for depends on it. */
static bool is_harmless(const fault_order *fault, const char *met)
{
    const bool folder = met[strlen(met) - 1] == '/' || strcmp(met, ".") == 0;
    if (is_memory(fault)) {
        return true; /* there may be another way; what is written is compared */
    }
    if (strcmp(fault->kind, "close") == 0) {
        return begins(met, READING) || strcmp(met, "/tmp") == 0; /* a script that was drawn */
    }
    if (strcmp(fault->how, "cut") == 0) {
        return true; /* all was read already; what is written is compared */
    }
    return folder; /* of which only the sync was wanted */
}

/* What no memory does to libraries that do not let us know; and interrupted writes of the C library's
 * streams, which the command asks the kernel to go on with (SA_RESTART), so that they do not come to pass. */
static bool is_beyond_us(const fault_order *fault, const outcome *seen)
{
    if (strcmp(fault->how, "4") == 0) {
        return strcmp(seen->met, OUTPUT) == 0 || strcmp(seen->met, "/tmp") == 0;
    }
    return strcmp(fault->kind, "memory") == 0 &&
           ((seen->status == 1 && strstr(seen->said, "libgomp: Out of memory") != NULL) ||
            strstr(seen->said, "OpenBLAS") != NULL);
}

static void judge_failure(const study *s, const outcome *seen)
{
    char name[512];
    const bool open = strcmp(s->fault.kind, "open") == 0;
    if (seen->status != 6 && !(open && seen->status == 3) && !is_beyond_us(&s->fault, seen)) {
        complain(s, seen, "expected exit 6");
        return;
    }
    plain_name(seen->met, name);
    if (seen->said[0] == '\0') {
        complain(s, seen, "expected a word on stderr");
    } else if (!is_memory(&s->fault) && strcmp(seen->met, "/tmp") != 0 && strstr(seen->said, name) == NULL) {
        complain(s, seen, "expected the name of the file on stderr");
    }
    const bool output_lost = strcmp(seen->met, OUTPUT) == 0 || s->fault.onward;
    if (strstr(s->of->command, "--json") != NULL && seen->status == 6 && !output_lost &&
        (seen->out[0] != '{' || strcmp(seen->out + strlen(seen->out) - 2, "}\n") != 0)) {
        complain(s, seen, "expected one JSON object");
    }
    for (int i = 0; i < s->outputs; i++) {
        if (output_look(s, i) == WRONG) {
            complain(s, seen, "a file is neither old nor whole");
        }
    }
}

static void judge(const study *s, const outcome *seen)
{
    const bool success = seen->status == 0;
    if (success && !outputs_whole(s)) {
        complain(s, seen, "it says that all is well, and the files are not what they should be");
    } else if (success && s->part->expected == NOTHING_LOST && seen->injected > 0 &&
               !is_harmless(&s->fault, seen->met)) {
        complain(s, seen, "it says that all is well");
    } else if (!success && s->part->expected == SURVIVED && !is_beyond_us(&s->fault, seen)) {
        complain(s, seen, "this should have been survived");
    } else if (!success) {
        judge_failure(s, seen);
    }
    int64_t files;
    int64_t temporaries;
    outputs_count(&files, &temporaries);
    if (temporaries != 0) {
        complain(s, seen, "a temporary file is left");
    }
    if (seen->leaks > s->leaks && !is_beyond_us(&s->fault, seen)) {
        complain(s, seen, "memory leaks");
    }
}

/* Killed: files are old or whole, and the same command, given again, does what it would have done. */
static void judge_killed(const study *s, const outcome *seen)
{
    if (seen->status != 256 + 9 && !(seen->status == 0 && s->part->expected == KILLED_ANYWHEN)) {
        complain(s, seen, "expected to be killed");
    }
    for (int i = 0; i < s->outputs; i++) {
        if (output_look(s, i) == WRONG) {
            complain(s, seen, "a file is half-written");
        }
    }
    size_t size = 0;
    char *stage = s->of->stage != NULL ? read_whole(s->of->stage, &size) : NULL;
    const bool resumable = stage != NULL && strcmp(stage, OLD) != 0;
    free(stage);
    outcome *again = malloc(sizeof *again);
    if (again == NULL) {
        abort();
    }
    child_run(s->at, s->of->command, resumable ? s->of->again : NULL, NULL, again);
    s->at->runs++;
    if (again->status != 0 || !outputs_whole(s)) {
        complain(s, again, "after it the command does not do what it would have done");
    }
    int64_t files;
    int64_t temporaries;
    outputs_count(&files, &temporaries);
    if (s->folder && temporaries != 0) {
        complain(s, again, "the next run left a temporary file of the killed one");
    }
    free(again);
}

/* ------------------------------------------------------------------------------------------------ the sweep
 */

static void list_outputs(study *s)
{
    char text[256];
    char *rest = NULL;
    (void)snprintf(text, sizeof text, "%s", s->of->outputs != NULL ? s->of->outputs : "");
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        if (strcmp(word, "/") == 0) {
            s->folder = true;
            continue;
        }
        s->varies[s->outputs] = *word == '~';
        (void)snprintf(s->names[s->outputs++], sizeof s->names[0], "%s", word + (*word == '~'));
    }
}

/* A run without faults: what is to be written, and how many calls there are. */
static int64_t begin(study *s, outcome *seen)
{
    outputs_set(s, false);
    child_run(s->at, s->of->command, NULL, &s->fault, seen);
    if (seen->status != 0) {
        complain(s, seen, "it fails without any fault");
        return 0;
    }
    for (int i = 0; i < s->outputs; i++) {
        char path[128];
        output_path(s, i, path);
        free(s->wanted[i]);
        s->wanted[i] = read_whole(path, &s->sizes[i]);
        if (s->wanted[i] == NULL) {
            complain(s, seen, "an output is not there");
            return 0;
        }
    }
    int64_t files;
    int64_t temporaries;
    outputs_count(&files, &temporaries);
    if (files != s->outputs && !s->folder) {
        complain(s, seen, "there are more outputs than are named");
    }
    s->leaks = seen->leaks;
    char *report = s->folder ? read_whole("out/all/report.html", &s->report_size) : NULL;
    free(report);
    return seen->calls;
}

static int64_t sweep_way(study *s, const way *by, outcome *seen)
{
    fault_order *now = &s->fault;
    *now = (fault_order){by->kind, 0, by->how, by->onward};
    const int64_t calls = begin(s, seen);
    const char *asked = getenv("NADIR_BRIEF");
    const bool brief = getenv("NADIR_SANITIZED") != NULL && asked != NULL && asked[0] == '1';
    const bool slow = s->folder || brief; /* many pictures; many checks */
    const int64_t sample = slow ? 2 : s->part->sample;
    const int64_t step = s->at->everything || calls <= sample ? 1 : (calls + sample - 1) / sample;
    int64_t injected = 0;
    /* The first ones and the last ones, and those between in steps. */
    for (now->at = 1; now->at <= calls;
         now->at += now->at + step > calls && now->at < calls ? calls - now->at : step) {
        outputs_set(s, now->at % 2 == 0);
        child_run(s->at, s->of->command, NULL, now, seen);
        s->at->runs++;
        if (seen->injected == 0) {
            break; /* fewer calls than before: there is nothing more to fail */
        }
        injected += seen->injected;
        if (s->part->expected == KILLED) {
            judge_killed(s, seen);
        } else {
            judge(s, seen);
        }
    }
    return injected;
}

/* The process is killed at random moments: not between two calls, but anywhere. */
static int64_t sweep_moments(study *s, outcome *seen)
{
    const uint64_t seed = UINT64_C(20250213);
    uint64_t state = seed;
    struct timespec from;
    struct timespec to;
    s->fault = (fault_order){"any", 0, "0", false};
    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    const int64_t calls = begin(s, seen);
    (void)clock_gettime(CLOCK_MONOTONIC, &to);
    const int64_t took = (to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000;
    const int64_t most = s->at->everything ? 20 * s->part->sample : s->part->sample;
    int64_t killed = 0;
    for (int64_t i = 0; i < most && calls > 0; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407); /* Knuth's MMIX */
        s->at->moment = (int64_t)((double)(state >> 11) * 0x1p-53 * 1.1 * (double)took) + 1;
        outputs_set(s, i % 2 == 0);
        child_run(s->at, s->of->command, NULL, NULL, seen);
        s->at->moment = 0;
        s->at->runs++;
        killed += seen->status == 256 + 9;
        judge_killed(s, seen);
    }
    printf("seed %" PRIu64 ", %" PRId64 " moments: ", seed, most);
    return killed;
}

static void sweep_scenario(place *at, const sweep_part *part, const scenario *of)
{
    study s = {.at = at, .of = of, .part = part};
    outcome *seen = malloc(sizeof *seen);
    if (seen == NULL) {
        abort();
    }
    list_outputs(&s);
    int64_t injected = 0;
    for (const way *by = part->ways; by->kind != NULL; by++) {
        injected += part->expected == KILLED_ANYWHEN ? sweep_moments(&s, seen) : sweep_way(&s, by, seen);
    }
    printf("%-16s %6" PRId64 " faults\n", of->name, injected);
    (void)fflush(stdout);
    at->faults += injected;
    for (int i = 0; i < s.outputs; i++) {
        free(s.wanted[i]);
    }
    free(seen);
}

/* What the scenarios read. */
static bool prepare(place *at)
{
    static const char log[] = "idstatefrom,idaction,idstateto,reward\n0,0,0,1\n0,1,1,0\n1,0,0,2\n1,1,1,0\n"
                              "0,0,1,1\n0,1,1,0\n1,0,1,2\n1,1,1,0\n0,0,0,1\n0,1,0,0\n1,0,0,2\n1,1,0,0\n";
    outcome *seen = malloc(sizeof *seen);
    bool good = seen != NULL && mkdir("out", 0777) == 0;
    write_whole("log.csv", log);
    for (int i = 0; good && preparations[i] != NULL; i++) {
        child_run(at, preparations[i], NULL, NULL, seen);
        if (seen->status != 0) {
            printf("FAILED: nadir %s: exit %d\n%s", preparations[i], seen->status, seen->said);
            good = false;
        }
    }
    free(seen);
    return good;
}

int main(int argc, char **argv)
{
    const char *thorough = getenv("NADIR_FAULTS");
    place at = {.everything = thorough != NULL && strcmp(thorough, "all") == 0};
    if (argc < 4) {
        fputs("usage: sweep NADIR SHIM PART [SCENARIO]\n", stderr);
        return 2;
    }
    at.program = argv[1];
    at.shim = argv[2];
    if (!prepare(&at)) {
        return 1;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        for (int j = 0; j < scenarios_count && strcmp(parts[i].name, argv[3]) == 0; j++) {
            const bool chosen = argc < 5 || strcmp(scenarios[j].name, argv[4]) == 0;
            if (chosen && (!scenarios[j].computes || strstr(argv[3], "memory") != NULL)) {
                sweep_scenario(&at, &parts[i], &scenarios[j]);
            }
        }
    }
    printf("%" PRId64 " faults injected in %" PRId64 " runs, %s\n", at.faults, at.runs,
           at.complaints == 0 ? "none lost" : "not all survived");
    return at.complaints == 0 && at.faults > 0 ? 0 : 1;
}

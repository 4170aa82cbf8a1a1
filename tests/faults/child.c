/* child.c: one run of the command, with its orders for the shim; see sweep.h. */
#include "sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 64, SECONDS = 120 };

char *read_whole(const char *path, size_t *size)
{
    FILE *in = fopen(path, "re");
    char *text = NULL;
    *size = 0;
    size_t got = 1;
    while (in != NULL && got > 0) {
        text = realloc(text, *size + 65536 + 1);
        if (text == NULL) {
            abort();
        }
        got = fread(text + *size, 1, 65536, in);
        *size += got;
        text[*size] = '\0';
    }
    if (in != NULL) {
        (void)fclose(in);
    }
    return text;
}

void write_whole(const char *path, const char *text)
{
    FILE *out = fopen(path, "we");
    if (out == NULL || fputs(text, out) < 0 || fclose(out) != 0) {
        perror(path);
        exit(1);
    }
}

static void copy_start(const char *path, char *to, size_t capacity)
{
    size_t size;
    char *text = read_whole(path, &size);
    (void)snprintf(to, capacity, "%s", text != NULL ? text : "");
    free(text);
}

static int split(char *text, char **words, int count)
{
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        if (count == WORDS - 1) {
            abort();
        }
        words[count++] = word;
    }
    words[count] = NULL;
    return count;
}

static void redirect(const char *path, int flags, int to)
{
    const int from = open(path, flags, 0666);
    if (from < 0 || dup2(from, to) < 0) {
        _exit(127);
    }
    (void)close(from);
}

static _Noreturn void become(const place *at, char **words, const fault_order *fault)
{
    char number[32];
    redirect("/dev/null", O_RDONLY, STDIN_FILENO);
    redirect("stdout.txt", O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    redirect("stderr.txt", O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
    if (fault != NULL) {
        (void)snprintf(number, sizeof number, "%lld", (long long)fault->at);
        (void)setenv("FAULT_KIND", fault->kind, 1);
        (void)setenv("FAULT_AT", number, 1);
        (void)setenv("FAULT_HOW", fault->how, 1);
        (void)setenv("FAULT_REPORT", "report.txt", 1);
        if (fault->onward) {
            (void)setenv("FAULT_ON", "1", 1);
        }
    }
    (void)setenv("OMP_NUM_THREADS", "1", 1);
    (void)setenv("LD_PRELOAD", at->shim, 1); /* without orders it only makes fsync quick */
    (void)alarm(SECONDS);                    /* outlives exec */
    (void)execv(at->program, words);
    _exit(127);
}

void child_run(const place *at, const char *command, const char *extra, const fault_order *fault,
               outcome *result)
{
    char text[2048];
    char *words[WORDS] = {(char *)at->program};
    (void)snprintf(text, sizeof text, "%s --threads 1 --quiet %s", command, extra != NULL ? extra : "");
    (void)split(text, words, 1);
    (void)unlink("report.txt");
    *result = (outcome){.met = "-"};
    const pid_t process = fork();
    if (process == 0) {
        become(at, words, fault);
    }
    if (at->moment > 0) {
        (void)usleep((useconds_t)at->moment);
        (void)kill(process, SIGKILL); /* a process that has ended is there until we wait for it */
    }
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    result->status = WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
    copy_start("stderr.txt", result->said, sizeof result->said);
    copy_start("stdout.txt", result->out, sizeof result->out);
    size_t size;
    char *report = read_whole("report.txt", &size);
    if (report != NULL) { /* three numbers and a path */
        char *at_path = report;
        result->calls = strtoll(at_path, &at_path, 10);
        result->injected = strtoll(at_path, &at_path, 10);
        result->leaks = strtoll(at_path, &at_path, 10);
        (void)snprintf(result->met, sizeof result->met, "%.*s", (int)strcspn(at_path + 1, "\n"), at_path + 1);
    }
    free(report);
}

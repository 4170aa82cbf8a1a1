/* progress.c: the progress bar, and interruption by signals. */
#include "cli.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* Work shorter than this shows no bar. */
#define PATIENCE_SECONDS 1.0

static volatile sig_atomic_t interrupted;
static bool obeyed; /* the interrupted work has stopped */

/* Seconds of patience with a first signal; a second one after that ends the process at once. One keystroke
 * can send the same signal twice in a row. */
#define GRACE_SECONDS 1.0

double cli_clock(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static volatile double interrupted_at;

static void note_interrupt(int number)
{
    if (interrupted != 0 && cli_clock() - interrupted_at > GRACE_SECONDS) {
        (void)signal(number, SIG_DFL);
        (void)raise(number);
    } else if (interrupted == 0) {
        interrupted_at = cli_clock();
        interrupted = 1;
    }
}

void cli_catch_interrupts(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = note_interrupt;
    action.sa_flags = SA_RESTART; /* restart writes to standard output, which the C library would abandon */
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file past the limit of its size is an error of writing it */
}

/* A line that is longer could not be removed. */
static int terminal_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
}

/* Seconds for the whole at the pace so far; NaN: not known yet. */
static double find_pace(const cli_bar *bar)
{
    const double least = 0.002;
    return bar->whole && bar->told - bar->base >= least
               ? (bar->told_at - bar->started) / (bar->told - bar->base)
               : NAN;
}

/* Between two shares that are told the bar goes on at the pace so far, towards the next one. */
static void tell_share(cli_bar *bar, double share)
{
    const double now = cli_clock();
    if (share > bar->told) {
        bar->step = share - bar->told;
        bar->told = share;
        bar->told_at = now;
    }
    const double pace = find_pace(bar);
    const double guess =
        isnan(pace) ? 0 : -bar->step * expm1(-(now - bar->told_at) / fmax(pace * bar->step, 1e-3));
    bar->share = fmax(bar->share, fmin(bar->told + guess, 1));
}

void cli_progress_part(cli_run *run, double first, double last)
{
    cli_bar *bar = &run->bar;
    bar->whole = true;
    bar->first = fmin(fmax(first, 0), 1);
    bar->last = fmin(fmax(last, bar->first), 1);
    if (bar->started == 0 || (!bar->working && last > first)) {
        bar->started = cli_clock();
        bar->base = bar->first;
        bar->told = bar->first;
        bar->step = 0;
        bar->working = last > first;
    }
    tell_share(bar, bar->first);
}

/* Moves the bar. Tasks whose share of the whole is not known take half of what is left each. */
static void move_bar(cli_bar *bar, const char *task, double share)
{
    char name[sizeof bar->task];
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(task, ":"), task); /* numbers may follow */
    if (!bar->whole && share >= 0 && strcmp(bar->task, name) != 0) {
        memcpy(bar->task, name, sizeof bar->task);
        bar->first = bar->share;
        bar->last = bar->share + (1 - bar->share) / 2;
    }
    if (share >= 0) {
        tell_share(bar, bar->first + fmin(share, 1) * (bar->last - bar->first));
    }
}

/* "12 s", "3:05", "2:00:01". */
static void print_time(double seconds, char text[32])
{
    const int64_t whole = (int64_t)ceil(fmin(seconds, 1e9));
    if (whole < 60) {
        (void)snprintf(text, 32, "%" PRId64 " s", whole);
    } else if (whole < 3600) {
        (void)snprintf(text, 32, "%" PRId64 ":%02" PRId64, whole / 60, whole % 60);
    } else {
        (void)snprintf(text, 32, "%" PRId64 ":%02" PRId64 ":%02" PRId64, whole / 3600, whole / 60 % 60,
                       whole % 60);
    }
}

static void draw_bar(cli_run *run, const char *task)
{
    const cli_bar *bar = &run->bar;
    const double now = cli_clock();
    const int width = *run->headline != '\0' ? 10 : 30; /* both fit into a line */
    const int full = (int)(bar->share * width);
    const double pace = find_pace(bar);
    char time[32];
    char line[sizeof run->headline + 128];
    char end[64] = "";
    const char *text = *run->headline != '\0' ? run->headline : task;
    print_time(isnan(pace) ? now - run->started : pace * (1 - bar->share), time);
    if (bar->whole) {
        (void)snprintf(end, sizeof end, ", %s %s", time, isnan(pace) ? "so far" : "left");
    }
    if (bar->share <= 0 && !bar->working) {
        (void)snprintf(line, sizeof line, "%s ... %s", text, time);
    } else {
        (void)snprintf(line, sizeof line, "[%.*s%*s] %3d %%%s  %s", full, "##############################",
                       width - full, "", (int)(100 * bar->share), end, text);
    }
    fprintf(stderr, "\r\033[K%.*s", terminal_width() - 1, line);
    fflush(stderr);
    run->bar_shown = true;
}

int cli_progress(void *user, const char *task, double share)
{
    cli_run *run = user;
    if (interrupted != 0 && !obeyed) {
        return 1;
    }
    if (run->started == 0) {
        run->started = cli_clock();
    }
    if (run->meanwhile != NULL) {
        run->meanwhile(run, run->meanwhile_user);
    }
    move_bar(&run->bar, task, share);
    if (!run->quiet && cli_clock() - run->started >= PATIENCE_SECONDS && isatty(STDERR_FILENO) != 0) {
        draw_bar(run, task);
    }
    return 0;
}

void cli_obey_interrupt(void)
{
    obeyed = true;
}

void cli_progress_clear(cli_run *run)
{
    if (run->bar_shown) {
        fputs("\r\033[K", stderr);
        run->bar_shown = false;
    }
}

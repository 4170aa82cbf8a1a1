/* progress.c: the progress bar, and interruption by signals. */
#include "cli.h"

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

int cli_progress(void *user, const char *task, double share)
{
    enum { WIDTH = 30 };
    cli_run *run = user;
    if (interrupted != 0 && !obeyed) {
        return 1;
    }
    if (run->started == 0) {
        run->started = cli_clock();
    }
    if (run->quiet || cli_clock() - run->started < PATIENCE_SECONDS || isatty(STDERR_FILENO) == 0) {
        return 0;
    }
    if (*run->headline != '\0') {
        char line[sizeof run->headline + 64];
        (void)snprintf(line, sizeof line, "%s; %s", run->headline, task);
        fprintf(stderr, "\r\033[K%.*s", terminal_width() - 1, line);
    } else if (share < 0) {
        fprintf(stderr, "\r\033[K%s ...", task);
    } else {
        const double held = share > 1 ? 1 : share;
        const int full = (int)(held * WIDTH);
        fprintf(stderr, "\r\033[K[%.*s%*s] %3d %% %s", full, "##############################", WIDTH - full,
                "", (int)(100 * held), task);
    }
    fflush(stderr);
    run->bar_shown = true;
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

/* growth.c: exponents and pictures of growth; see growth.h. */
#include "growth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const names[GROWN_KINDS] = {"v", "free", "support", "optimise"};

double bench_exponent(const grown *all, int from, const double *y)
{
    const int count = all->count - from;
    double sums[4] = {0};
    for (int i = from; i < all->count; i++) {
        const double x = log(all->transitions[i]);
        sums[0] += x;
        sums[1] += log(y[i]);
        sums[2] += x * x;
        sums[3] += x * log(y[i]);
    }
    return (count * sums[3] - sums[0] * sums[1]) / (count * sums[2] - sums[0] * sums[0]);
}

/* Lets gnuplot read a script, in a locale that it understands. */
static void run_gnuplot(FILE *script)
{
    int status = 0;
    rewind(script);
    const pid_t child = fork();
    if (child == 0) {
        (void)setenv("LC_ALL", "C", 1);
        (void)dup2(fileno(script), STDIN_FILENO);
        (void)execlp("gnuplot", "gnuplot", "-", (char *)NULL);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        (void)fprintf(stderr, "bench: gnuplot did not draw the picture\n");
    }
}

/* One of two panels: lines of y, and what grows as the model does, through the first point of each. */
static void draw_panel(FILE *script, const char *title, const grown *all,
                       const double y[GROWN_KINDS][GROWN_SIZES])
{
    for (int kind = 0; kind < GROWN_KINDS; kind++) {
        (void)fprintf(script, "$data%d << END\n", kind);
        for (int i = 0; i < all->count; i++) {
            (void)fprintf(script, "%g %g %g\n", all->transitions[i], y[kind][i],
                          y[kind][0] * all->transitions[i] / all->transitions[0]);
        }
        (void)fprintf(script, "END\n");
    }
    (void)fprintf(script, "set title '%s'\nplot ", title);
    for (int kind = 0; kind < GROWN_KINDS; kind++) {
        (void)fprintf(script,
                      "$data%d using 1:2 with linespoints pt 7 ps 0.5 lw 2 lc %d title '%s: exponent %.2f', "
                      "$data%d using 1:3 with lines dt 3 lc %d notitle%s",
                      kind, kind + 1, names[kind], bench_exponent(all, 0, y[kind]), kind, kind + 1,
                      kind + 1 < GROWN_KINDS ? ", " : "\n");
    }
}

void bench_draw_growth(const char *path, int count, const char *const *families, const grown *all)
{
    FILE *script = tmpfile();
    if (script == NULL) {
        return;
    }
    (void)fprintf(
        script,
        "set terminal svg size 1080,%d background 'white' font 'sans,13'\nset output '%s'\n"
        "set encoding utf8\nset multiplot layout %d,2\nset logscale xy\nset grid\nset key right bottom\n"
        "set format x '10^{%%T}'\nset format y '10^{%%T}'\n"
        "set xlabel 'transitions of the model'\n",
        430 * count, path, count);
    for (int family = 0; family < count; family++) {
        char title[128];
        (void)snprintf(title, sizeof title, "%s: seconds (dotted: in proportion)", families[family]);
        draw_panel(script, title, &all[family], all[family].seconds);
        (void)snprintf(title, sizeof title, "%s: entries of P^{π} read", families[family]);
        draw_panel(script, title, &all[family], all[family].entries);
    }
    (void)fprintf(script, "unset multiplot\n");
    run_gnuplot(script);
    (void)fclose(script);
}

/*
 * optimize_plot.c: what robustness costs and buys, as a picture.
 *
 * Across: the worst return over the ball; upwards: the nominal return. Robust policies of growing radius are
 * a line that goes to the left and down; the nominal optimum, under the same balls, goes to the left alone.
 * Points of the same radius are joined, and its number stands there: how far the robust one is to the right
 * is what robustness buys, how far it is below is its price. Points are full where the optimum is certified,
 * hollow where not. No colour is needed to tell the lines apart.
 */
#include "gnuplot.h"
#include "optimize.h"

#include <math.h>

/* Radii that are written out are so far apart, as a share of the width. */
#define NUMBERS_APART 0.12
/* The nominal returns cover at least this share of what the worst returns do: a smaller price is none. */
#define LEAST_HEIGHT 0.02

/* What is drawn where. */
typedef struct frame {
    double left, right;
    double bottom, top;
} frame;

static frame make_frame(const cli_frontier *frontier)
{
    frame in = {INFINITY, -INFINITY, frontier->nominal_optimum, frontier->nominal_optimum};
    for (int64_t i = 0; i < frontier->count; i++) {
        const cli_frontier_point *point = &frontier->points[i];
        in.left = fmin(fmin(in.left, point->robust_return), point->optimum_robust_return);
        in.right = fmax(fmax(in.right, point->robust_return), point->optimum_robust_return);
        in.bottom = fmin(in.bottom, point->nominal_return);
    }
    const double least =
        fmax(1e-3 * fabs(frontier->nominal_optimum), 1e-9); /* or numbers at tics are equal */
    const double width = fmax(in.right - in.left, least);
    const double height = fmax(in.top - in.bottom, fmax(LEAST_HEIGHT * width, least));
    return (frame){in.left - 0.06 * width, in.right + 0.06 * width, in.bottom - 0.12 * height,
                   in.top + 0.2 * height};
}

/* Worst and nominal return: of robust policies, of those that are not certified, of the nominal optimum.
 * Returns how many are not. */
static int64_t write_data(const cli_frontier *frontier, FILE *script)
{
    int64_t open = 0;
    fputs("$robust << EOD\n", script);
    for (int64_t i = 0; i < frontier->count; i++) {
        const cli_frontier_point *point = &frontier->points[i];
        fprintf(script, "%.17g %.17g\n", point->robust_return, point->nominal_return);
    }
    fputs("EOD\n$open << EOD\n", script);
    for (int64_t i = 0; i < frontier->count; i++) {
        const cli_frontier_point *point = &frontier->points[i];
        if (!point->certified) {
            fprintf(script, "%.17g %.17g\n", point->robust_return, point->nominal_return);
            open++;
        }
    }
    fputs("EOD\n$optimum << EOD\n", script);
    for (int64_t i = 0; i < frontier->count; i++) {
        const cli_frontier_point *point = &frontier->points[i];
        if (!isnan(point->optimum_robust_return)) {
            fprintf(script, "%.17g %.17g\n", point->optimum_robust_return, frontier->nominal_optimum);
        }
    }
    fputs("EOD\n", script);
    return open;
}

/* Points of the same radius are joined; its number stands above the nominal optimum, unless there is no room
 * between those of larger radii. */
static void write_radii(const cli_frontier *frontier, const frame *in, FILE *script)
{
    const double apart = NUMBERS_APART * (in->right - in->left);
    double last = INFINITY;
    for (int64_t i = frontier->count - 1; i >= 0; i--) {
        const cli_frontier_point *point = &frontier->points[i];
        const bool broken = isnan(point->optimum_robust_return);
        const double x = broken ? point->robust_return : point->optimum_robust_return;
        const double y = broken ? point->nominal_return : frontier->nominal_optimum;
        fprintf(script,
                "set arrow from first %.17g, first %.17g to first %.17g, first %.17g nohead lw 1.5 lc rgb "
                "'#999999' back\n",
                x, y, point->robust_return, point->nominal_return);
        if (fabs(x - last) >= apart) {
            const bool first = isinf(last);
            fprintf(
                script, "set label '%s%.3g' at first %.17g, first %.17g %s offset character %s,0.9 front\n",
                first ? "radius " : "", point->radius, x, y, first ? "left" : "center", first ? "-1.5" : "0");
            last = first ? x + 0.9 * apart : x;
        }
    }
}

/* 1, 2 or 5 times a power of ten: at most four to the width, for their numbers may be long. */
static double make_step(const frame *in)
{
    const double wanted = (in->right - in->left) / 4;
    const double unit = pow(10, floor(log10(wanted)));
    return unit * (wanted > 5 * unit ? 10 : wanted > 2 * unit ? 5 : 2);
}

nadir_status cli_frontier_draw(cli_run *run, const cli_frontier *frontier)
{
    enum { WIDTH = 1000, HEIGHT = 640, FONT = 20 };
    cli_gnuplot plot;
    const frame in = make_frame(frontier);
    const nadir_status status = cli_gnuplot_open(run, frontier->plot_path, WIDTH, HEIGHT, FONT, &plot);
    if (status != NADIR_OK) {
        return status;
    }
    fprintf(plot.script,
            "set border 3 lw 2\nset tics nomirror out\nset tmargin 1\nset bmargin 3.5\nset rmargin 3\n"
            "set xlabel 'worst return'\nset ylabel 'nominal return'\nset format '%%g'\n"
            "set key bottom right Left reverse samplen 3 spacing 1.2\n"
            "set xrange [%.17g:%.17g]\nset yrange [%.17g:%.17g]\nset xtics %.17g\n",
            in.left, in.right, in.bottom, in.top, make_step(&in));
    const int64_t open = write_data(frontier, plot.script);
    write_radii(frontier, &in, plot.script);
    fputs("plot $optimum with linespoints lw 4 dt (14,6) pt 5 ps 1.2 lc rgb '#0072b2' title "
          "'nominal optimum', \\\n"
          "  $robust with linespoints lw 4 dt solid pt 7 ps 1.8 lc rgb '#000000' title 'robust policies'",
          plot.script);
    if (open > 0) {
        fputs(", \\\n  $open with points pt 7 ps 1.2 lc rgb '#ffffff' notitle, \\\n"
              "  $open with points pt 6 ps 1.8 lw 3 lc rgb '#000000' title 'not certified'",
              plot.script);
    }
    fputc('\n', plot.script);
    return cli_gnuplot_close(run, &plot);
}

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
#include "verdict.h"

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

/* The words that all pictures have: the model, what is shown, for which sets. */
static void write_title(const cli_input *input, const nadir_robust *ball, const cli_frontier *frontier,
                        const cli_gnuplot *plot)
{
    char text[256];
    char number[3][32];
    (void)snprintf(text, sizeof text, "radii from %s to %s, norm %s; %s; %s",
                   cli_short(frontier->radii.first, number[0]), cli_short(frontier->radii.last, number[1]),
                   cli_norm(ball->norm, number[2]), cli_set_words(ball->set), cli_domain_words(ball->domain));
    cli_gnuplot_title(plot, input->model_path, NULL, "what robustness costs and buys", text);
}

nadir_status cli_frontier_draw(cli_run *run, const cli_input *input, const nadir_robust *ball,
                               const cli_frontier *frontier)
{
    enum { WIDTH = 1000, HEIGHT = 720, FONT = 18 };
    cli_gnuplot plot;
    const frame in = make_frame(frontier);
    const nadir_status status = cli_gnuplot_open(run, frontier->plot_path, WIDTH, HEIGHT, FONT, &plot);
    if (status != NADIR_OK) {
        return status;
    }
    fprintf(plot.script,
            "set border 3 lw 2\nset tics nomirror out\nset rmargin 3\n"
            "set xlabel 'return in the worst case'\nset ylabel 'return if the model is right'\n"
            "set format x '%%.%dg'\nset format y '%%.%dg'\n"
            "set xrange [%.17g:%.17g]\nset yrange [%.17g:%.17g]\nset xtics %.17g\n",
            cli_gnuplot_digits(in.left, in.right), cli_gnuplot_digits(in.bottom, in.top), in.left, in.right,
            in.bottom, in.top, cli_gnuplot_step(in.right - in.left, 7));
    write_title(input, ball, frontier, &plot);
    const int64_t open = write_data(frontier, plot.script);
    write_radii(frontier, &in, plot.script);
    cli_gnuplot_key(&plot, open > 0 ? 4 : 3);
    fputs("plot $optimum with linespoints lw 4 dt (14,6) pt 5 ps 1.2 lc rgb '#0072b2' title "
          "'policy optimal: best if the model is right', \\\n"
          "  $robust with linespoints lw 4 dt solid pt 7 ps 1.8 lc rgb '#000000' title 'robust policies, one "
          "for each radius', \\\n  NaN with lines lw 1.5 lc rgb '#999999' title 'the same radius'",
          plot.script);
    if (open > 0) {
        fputs(", \\\n  $open with points pt 7 ps 1.2 lc rgb '#ffffff' notitle, \\\n"
              "  $open with points pt 6 ps 1.8 lw 3 lc rgb '#000000' title 'not proven to be the best'",
              plot.script);
    }
    fputc('\n', plot.script);
    return cli_gnuplot_close(run, &plot);
}

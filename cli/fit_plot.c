/*
 * fit_plot.c: pictures of guarantees.
 *
 * Of sets: across, the return. A line marks the return that is estimated; for each set a bar goes from there to what is
 * guaranteed, with the number at its end: the shorter, the better. Where the worst return that was found is
 * not proven to be the worst, a white line in the bar shows it.
 *
 * Of returns: for each policy a histogram of its return over the posterior, with a line at what is guaranteed.
 */
#include "fit.h"
#include "gnuplot.h"
#include "verdict.h"

#include <math.h>
#include <stdlib.h>

/* Names of sets in the order from top to bottom. */
static const char *const names[3] = {"nonrect", "s", "sa"};
static const nadir_set sets[3] = {NADIR_SET_NONRECT, NADIR_SET_S, NADIR_SET_SA};

/* Returns whether a worst return found is marked. */
static bool write_bars(const cli_fit *fit, FILE *script)
{
    const nadir_fit_result *result = &fit->result;
    bool marked = false;
    for (int i = 0; i < 3; i++) {
        const nadir_fit_guarantee *guarantee = &result->sets[i];
        if (!isfinite(guarantee->lower_bound)) {
            continue;
        }
        fprintf(script,
                "set object rectangle from first %.17g, first %.3g to first %.17g, first %.3g fs solid 1 "
                "noborder fc rgb '%s'\n",
                guarantee->lower_bound, 2.7 - i, result->nominal_return, 3.3 - i,
                cli_style_find(names[i])->colour);
        fprintf(script, "set label '%.5g' at first %.17g, first %d right offset character -0.6,0 front\n",
                guarantee->lower_bound, guarantee->lower_bound, 3 - i);
        if (!guarantee->certified) {
            fprintf(script,
                    "set arrow from first %.17g, first %.3g to first %.17g, first %.3g nohead lw 3 lc rgb "
                    "'#ffffff' front\n",
                    guarantee->robust_return, 2.7 - i, guarantee->robust_return, 3.3 - i);
            marked = true;
        }
    }
    return marked;
}

nadir_status cli_fit_draw(cli_run *run, const cli_fit *fit)
{
    enum { WIDTH = 1100, HEIGHT = 400, FONT = 18 };
    const nadir_fit_result *result = &fit->result;
    const double nominal = result->nominal_return;
    double lowest = nominal;
    char text[160];
    cli_gnuplot plot;
    for (int i = 0; i < 3; i++) {
        lowest = isfinite(result->sets[i].lower_bound) ? fmin(lowest, result->sets[i].lower_bound) : lowest;
    }
    const double width = fmax(nominal - lowest, fmax(1e-3 * fabs(nominal), 1e-9));
    const double left = lowest - 0.25 * width; /* room for numbers */
    const double right = nominal + 0.1 * width;
    const nadir_status status = cli_gnuplot_open(run, fit->plot_path, WIDTH, HEIGHT, FONT, &plot);
    if (status != NADIR_OK) {
        return status;
    }
    fprintf(plot.script,
            "unset key\nset border 1 lw 2\nset tics nomirror out\nset bmargin 3.5\nset "
            "lmargin 33\n"
            "set rmargin 3\nset format x '%%.%dg'\n"
            "set xtics %.17g\nset ytics scale 0 (",
            cli_gnuplot_digits(left, right), cli_gnuplot_step(right - left, 5));
    for (int i = 0; i < 3; i++) {
        fprintf(plot.script, "%s'%s' %d", i > 0 ? ", " : "", cli_set_words(sets[i]), 3 - i);
    }
    fprintf(plot.script, ")\nset xrange [%.17g:%.17g]\nset yrange [0.4:3.6]\n", left, right);
    const bool marked = write_bars(fit, plot.script);
    (void)snprintf(text, sizeof text, "bars: from the return that is estimated to what is guaranteed%s",
                   marked ? "; white: worst case found" : "");
    cli_gnuplot_title(&plot, fit->data_path, fit->policy_name, "return guaranteed", text);
    fprintf(plot.script, "set tmargin at screen 0.7\nset xlabel 'return, with confidence %g'\n",
            result->confidence);
    fprintf(plot.script,
            "set arrow from first %.17g, graph 0 to first %.17g, graph 1 nohead lw 3 lc rgb '#000000' front\n"
            "set label 'estimated %.5g' at first %.17g, graph 1.08 right offset character 2,0\nplot NaN\n",
            nominal, nominal, nominal, nominal);
    return cli_gnuplot_close(run, &plot);
}

/* ---- Returns ---- */

enum { BINS = 60, MOST_COLOURS = 8 };

static const char *colour_of(int policy)
{
    static const char *const colours[MOST_COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                      "#e69f00", "#56b4e9", "#7f7f7f", "#000000"};
    return colours[policy % MOST_COLOURS];
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static int count_policies(const cli_fit *fit)
{
    return fit->policies.count > 1 ? fit->policies.count : 1;
}

/* What is guaranteed of a policy on its own. */
static double guaranteed_of(const cli_fit *fit, int policy)
{
    return fit->policies.count > 1 ? fit->bounds.guaranteed[policy] : fit->found.guaranteed;
}

/* The range of all returns but the thousandth at each end, with the guarantees. Sorts the returns of each policy. */
static void find_range(const cli_fit *fit, double *left, double *right)
{
    const int64_t cut = fit->draws / 1000;
    *left = INFINITY;
    *right = -INFINITY;
    for (int i = 0; i < count_policies(fit); i++) {
        double *returns = fit->returns + i * fit->draws;
        qsort(returns, (size_t)fit->draws, sizeof *returns, by_value);
        *left = fmin(*left, fmin(returns[cut], guaranteed_of(fit, i)));
        *right = fmax(*right, returns[fit->draws - 1 - cut]);
    }
    const double margin = 0.03 * fmax(*right - *left, fmax(1e-3 * fabs(*left), 1e-9));
    *left -= margin;
    *right += margin;
}

/* The share of the returns in each of BINS, as steps. */
static void write_histogram(const cli_fit *fit, int policy, double left, double right, FILE *script)
{
    const double *returns = fit->returns + policy * fit->draws;
    double share[BINS] = {0};
    for (int64_t k = 0; k < fit->draws; k++) {
        const double at = (returns[k] - left) / (right - left) * BINS;
        if (at >= 0 && at < BINS) {
            share[(int)at] += 100 / (double)fit->draws;
        }
    }
    fprintf(script, "$policy%d << EOD\n", policy);
    for (int i = 0; i < BINS; i++) {
        const double from = left + (right - left) * i / BINS;
        fprintf(script, "%.10g %.6g\n%.10g %.6g\n", from, share[i], left + (right - left) * (i + 1) / BINS,
                share[i]);
    }
    fprintf(script, "EOD\n");
}

static void write_plots(const cli_fit *fit, const cli_gnuplot *plot)
{
    char text[256];
    char number[2][32];
    for (int i = 0; i < count_policies(fit); i++) {
        fprintf(plot->script,
                "%s$policy%d with filledcurves y1=0 fc rgb '%s' fs transparent solid 0.3 noborder title ",
                i > 0 ? ", " : "plot ", i, colour_of(i));
        (void)snprintf(text, sizeof text, "%.120s: estimated %s, guaranteed %s",
                       fit->policies.count > 0 ? fit->policies.values[i] : "chosen on these data",
                       cli_short(fit->bounds.nominal[i], number[0]),
                       cli_short_down(guaranteed_of(fit, i), number[1]));
        cli_gnuplot_text(plot, text);
        fprintf(plot->script, ", $policy%d with lines lw 2 lc rgb '%s' notitle", i, colour_of(i));
    }
    fprintf(plot->script, "\n");
}

nadir_status cli_fit_draw_returns(cli_run *run, const cli_fit *fit)
{
    enum { WIDTH = 1000, HEIGHT = 480, FONT = 18, LINE = 30 };
    const int count = count_policies(fit);
    double left;
    double right;
    char text[160];
    cli_gnuplot plot;
    find_range(fit, &left, &right);
    const nadir_status status =
        cli_gnuplot_open(run, fit->plot_path, WIDTH, HEIGHT + LINE * count, FONT, &plot);
    if (status != NADIR_OK) {
        return status;
    }
    fprintf(plot.script,
            "set border 1 lw 2\nset tics nomirror out\nunset ytics\nset lmargin 4\nset rmargin 4\n"
            "set format x '%%.%dg'\nset xtics %.17g\nset xrange [%.17g:%.17g]\nset yrange [0:*]\n"
            "set xlabel 'return'\n",
            cli_gnuplot_digits(left, right), cli_gnuplot_step(right - left, 6), left, right);
    cli_gnuplot_key(&plot, count);
    (void)snprintf(text, sizeof text,
                   "how likely each return is after the data (%lld draws)\n"
                   "dashed: guaranteed with confidence %g",
                   (long long)fit->draws, fit->settings.confidence);
    cli_gnuplot_title(&plot, fit->data_path, fit->policies.count == 1 ? fit->policy_name : NULL,
                      count > 1 ? "which policy earns more" : "what the policy earns", text);
    for (int i = 0; i < count; i++) {
        write_histogram(fit, i, left, right, plot.script);
        fprintf(
            plot.script,
            "set arrow from first %.17g, graph 0 to first %.17g, graph 1 nohead lw 3 dt (10,5) lc rgb '%s' "
            "front\n",
            guaranteed_of(fit, i), guaranteed_of(fit, i), colour_of(i));
    }
    write_plots(fit, &plot);
    return cli_gnuplot_close(run, &plot);
}

/*
 * fit_plot.c: the guarantees of the three sets as a picture.
 *
 * Across: the return. A line marks the nominal return; for each set a bar goes from there to what is
 * guaranteed, with the number at its end: the shorter, the better. Where the worst return that was found is
 * not proven to be the worst, a white line in the bar shows it.
 */
#include "fit.h"
#include "gnuplot.h"

#include <math.h>

/* Names of sets in the order from top to bottom. */
static const char *const names[3] = {"nonrect", "s", "sa"};
static const char *const labels[3] = {"one ball", "s-rectangular", "sa-rectangular"};

/* 1, 2 or 5 times a power of ten: at most six to the width. */
static double make_step(double width)
{
    const double wanted = width / 6;
    const double unit = pow(10, floor(log10(wanted)));
    return unit * (wanted > 5 * unit ? 10 : wanted > 2 * unit ? 5 : 2);
}

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
    enum { WIDTH = 1000, HEIGHT = 380, FONT = 20 };
    const nadir_fit_result *result = &fit->result;
    const double nominal = result->nominal_return;
    double lowest = nominal;
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
            "unset key\nset border 1 lw 2\nset tics nomirror out\nset tmargin 2.5\nset bmargin 3.5\nset "
            "lmargin 17\n"
            "set rmargin 3\nset format x '%%g'\n"
            "set xtics %.17g\nset ytics scale 0 (",
            make_step(right - left));
    for (int i = 0; i < 3; i++) {
        fprintf(plot.script, "%s'%s' %d", i > 0 ? ", " : "", labels[i], 3 - i);
    }
    fprintf(plot.script, ")\nset xrange [%.17g:%.17g]\nset yrange [0.4:3.6]\n", left, right);
    const bool marked = write_bars(fit, plot.script);
    fprintf(plot.script, "set xlabel 'guaranteed with confidence %g%s'\n", result->confidence,
            marked ? "; white: worst found" : "");
    fprintf(plot.script,
            "set arrow from first %.17g, graph 0 to first %.17g, graph 1 nohead lw 3 lc rgb '#000000' front\n"
            "set label 'nominal %.5g' at first %.17g, graph 1.08 right offset character 2,0\nplot NaN\n",
            nominal, nominal, nominal, nominal);
    return cli_gnuplot_close(run, &plot);
}

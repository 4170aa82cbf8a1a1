/* compare_plot.c: the trajectories of nadir compare as a file and as a picture; see compare.h. */
#include "compare.h"
#include "files.h"
#include "gnuplot.h"
#include "verdict.h"

#include <inttypes.h>
#include <math.h>

nadir_status cli_compare_write(cli_run *run, const cli_comparison *comparison)
{
    cli_output output;
    nadir_status status = cli_output_open(run, comparison->csv_path, &output);
    if (status != NADIR_OK) {
        return status;
    }
    fputs("method,seconds,samples,penalty,share\n", output.out);
    for (int i = 0; i < comparison->count; i++) {
        const cli_compared *compared = &comparison->compared[i];
        for (int64_t j = 0; j < compared->count; j++) {
            const nadir_trajectory_point *point = &compared->points[j];
            const double share = cli_compare_share(comparison, point->value);
            char seconds[32];
            char penalty[32];
            char part[32];
            fprintf(output.out, "%s,%s,%" PRId64 ",%s,%s\n", compared->name,
                    cli_number(point->seconds, seconds), point->samples, cli_number(point->value, penalty),
                    isnan(share) ? "" : cli_number(share, part));
        }
    }
    return cli_output_close(run, &output);
}

/* The time that the picture begins with: a power of ten below the first point. */
static double first_time(const cli_comparison *comparison)
{
    double first = comparison->budget.seconds;
    for (int i = 0; i < comparison->count; i++) {
        const cli_compared *compared = &comparison->compared[i];
        first = fmin(first, compared->count > 0 ? compared->points[0].seconds : compared->result.seconds);
    }
    return pow(10, floor(log10(fmax(first, 1e-6))));
}

/* Methods may be over before the budget is, or a step later. */
static double last_time(const cli_comparison *comparison)
{
    double last = 0;
    for (int i = 0; i < comparison->count; i++) {
        last = fmax(last, comparison->compared[i].result.seconds);
    }
    return isinf(comparison->budget.seconds) ? last : fmax(last, comparison->budget.seconds);
}

static void write_trajectories(const cli_comparison *comparison, FILE *script)
{
    for (int i = 0; i < comparison->count; i++) {
        const cli_compared *compared = &comparison->compared[i];
        fprintf(script, "$m%d << EOD\n", i);
        for (int64_t j = 0; j < compared->count; j++) {
            fprintf(script, "%.9g %.9g\n", fmax(compared->points[j].seconds, 1e-9),
                    100 * cli_compare_share(comparison, compared->points[j].value));
        }
        /* as long as it ran; what found nothing ends at 0 */
        const double end = compared->count > 0 ? compared->points[compared->count - 1].value : 0;
        fprintf(script, "%.9g %.9g\n", fmax(compared->result.seconds, 1e-9),
                100 * cli_compare_share(comparison, end));
        fputs("EOD\n", script);
    }
}

static void write_title(const cli_comparison *comparison, const cli_gnuplot *plot)
{
    const nadir_robust *exact = &comparison->exact;
    char ball[160];
    char text[320];
    (void)snprintf(text, sizeof text, "100 %%: %.6g, %s\n%s", fabs(exact->penalty),
                   exact->certified ? "proven to be the largest" : "the largest that is known, without proof",
                   cli_ball_words(exact->radius, exact->norm, exact->set, exact->domain, ball));
    cli_gnuplot_title(plot, comparison->input.model_path, comparison->input.policy_name,
                      "how soon methods find the worst case", text);
}

nadir_status cli_compare_draw(cli_run *run, const cli_comparison *comparison)
{
    cli_gnuplot plot;
    nadir_status status = cli_gnuplot_open(run, comparison->plot_path, 1200, 640, 16, &plot);
    if (status != NADIR_OK) {
        return status;
    }
    const double last = last_time(comparison);
    fprintf(plot.script,
            "set logscale x\nset xrange [%.6g:%.6g]\nset yrange [0:105]\n"
            "set xlabel 'seconds since the nominal solution'\nset ylabel 'loss found, %%'\n"
            "set format x '%%g'\n"
            "set border 3 linewidth 2\nset xtics out nomirror\nset ytics out nomirror\n"
            "set grid ytics linetype 1 linewidth 1 linecolor rgb '#cccccc'\n"
            "set key outside right center Left reverse samplen 2\n",
            first_time(comparison), 1.05 * last); /* with room for marks */
    write_title(comparison, &plot);
    write_trajectories(comparison, plot.script);
    fprintf(plot.script,
            "plot 100 with lines linewidth 1 dashtype 2 linecolor rgb '#000000' title 'worst case, %s'",
            comparison->exact.certified ? "proven" : "the largest known loss");
    for (int i = 0; i < comparison->count; i++) {
        const cli_style *style = cli_style_find(comparison->compared[i].name);
        fprintf(plot.script, ", $m%d with steps linewidth 2.5 linecolor rgb '%s' notitle", i, style->colour);
        fprintf(plot.script,
                ", $m%d every ::%" PRId64 " with points pointtype %d pointsize 1.6 linewidth 2 "
                "linecolor rgb '%s' title ",
                i, comparison->compared[i].count, style->point, style->colour);
        cli_gnuplot_text(&plot, *style->label != '\0' ? style->label : comparison->compared[i].name);
    }
    fputc('\n', plot.script);
    return cli_gnuplot_close(run, &plot);
}

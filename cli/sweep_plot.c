/*
 * sweep_plot.c: risk curves as a picture.
 *
 * Every curve has a colour and a dash pattern, named in the legend, and a point at every radius that was computed. The worst
 * case falls as the ball grows: between two radii it lies above the lower bound of the larger one and below the upper bound
 * of the smaller one. That is the band, a step from point to point; lines merely join the points. With one policy its nominal return is a line across. Breakdown and the valid radius of the free domain are lines from top to
 * bottom with their numbers.
 */
#include "gnuplot.h"
#include "sweep.h"
#include "verdict.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Bounds that are further off than this many times the range of the returns are cut off, and so are curves of
 * the free domain that fall to this many times what others do. */
#define BAND_SHARE 0.5
#define FALL       3
/* How much of its colour a band has. */
#define BAND_SHADE  0.25
#define BANDS_SHADE 0.12 /* of several, whose lower edges are lines that tell them apart */
/* Sweeps of more radii have small points. */
enum { FEW = 60 };

/* What is drawn where. */
typedef struct frame {
    double left, right;
    double bottom, top;
} frame;

/* How far a curve goes from the nominal return. One of the free domain, which falls without end towards
 * breakdown, is followed to a few times of what it is half way. */
static double reach_of(const cli_curve *curve)
{
    const double half = curve->count > 0 ? fabs(curve->results[curve->count / 2].penalty) : 0;
    double reach = 0;
    for (int64_t i = 0; i < curve->count; i++) {
        reach = fmax(reach, fabs(curve->results[i].penalty));
    }
    return curve->domain == NADIR_DOMAIN_FREE && half > 0 ? fmin(reach, FALL * half) : reach;
}

/* The range of returns that is shown: that of the curves and, up to a point, of their bounds. */
static double range_of(const cli_sweep *sweep)
{
    double valid = 0;
    double free = 0;
    for (int c = 0; c < sweep->curves_count; c++) {
        const double reach = reach_of(&sweep->curves[c]);
        if (sweep->curves[c].domain == NADIR_DOMAIN_FREE) {
            free = fmax(free, reach);
        } else {
            valid = fmax(valid, reach);
        }
    }
    return valid > 0 ? fmax(valid, fmin(free, FALL * valid)) : free;
}

/* How far from the nominal return a curve is shown, with its bounds. */
static double shown_of(const cli_sweep *sweep, const cli_curve *curve, double range)
{
    double shown = fmin(reach_of(curve), range);
    for (int64_t i = 0; i < curve->count; i++) {
        const nadir_robust *robust = &curve->results[i];
        const double bound = sweep->optimistic ? robust->upper_bound - robust->nominal_return
                                               : robust->nominal_return - robust->lower_bound;
        shown = isfinite(bound) ? fmax(shown, fmin(bound, (1 + BAND_SHARE) * range)) : shown;
    }
    return shown;
}

static frame make_frame(const cli_sweep *sweep)
{
    const double range = range_of(sweep);
    double low = INFINITY;
    double high = -INFINITY;
    for (int c = 0; c < sweep->curves_count; c++) {
        const cli_curve *curve = &sweep->curves[c];
        if (curve->count > 0) {
            const double nominal = curve->results[0].nominal_return;
            const double shown = shown_of(sweep, curve, range);
            low = fmin(low, sweep->optimistic ? nominal : nominal - shown);
            high = fmax(high, sweep->optimistic ? nominal + shown : nominal);
        }
    }
    const double height = fmax(high - low, fmax(1e-3 * fabs(high), 1e-9));
    return (frame){
        .left = sweep->radii.count > 1 ? sweep->radii.first : 0.5 * sweep->radii.last,
        .right =
            sweep->radii.count > 1 ? sweep->radii.last : 1.5 * sweep->radii.last + (sweep->radii.last == 0),
        .bottom = low - 0.05 * height,
        .top = high + 0.1 * height, /* with room for the names of vertical lines */
    };
}

/* Radius and return of each point, and the bounds between each two, within the frame. */
static void write_data(const cli_sweep *sweep, const frame *in, FILE *script)
{
    for (int c = 0; c < sweep->curves_count; c++) {
        const cli_curve *curve = &sweep->curves[c];
        fprintf(script, "$curve%d << EOD\n", c);
        for (int64_t i = 0; i < curve->count; i++) {
            fprintf(script, "%.17g %.17g\n", curve->results[i].radius, curve->results[i].robust_return);
        }
        fprintf(script, "EOD\n$band%d << EOD\n", c);
        for (int64_t i = 0; i + 1 < curve->count; i++) {
            const nadir_robust *ends[2] = {&curve->results[i], &curve->results[i + 1]};
            const double low = ends[!sweep->optimistic]->lower_bound;
            const double high = ends[sweep->optimistic]->upper_bound;
            if (isfinite(low) && isfinite(high)) {
                fprintf(script, "%.17g %.17g %.17g\n%.17g %.17g %.17g\n", ends[0]->radius,
                        fmax(low, in->bottom), fmin(high, in->top), ends[1]->radius, fmax(low, in->bottom),
                        fmin(high, in->top));
            } else { /* no band without both ends */
                fputc('\n', script);
            }
        }
        fputs("EOD\n", script);
    }
}

/* A line from bottom to top with its name and number, if it is in the frame. `rank`: how far down the name
 * stands, so that two do not meet. */
static void write_mark(const char *name, double radius, int dash, int rank, const frame *in, FILE *script)
{
    if (!(radius > in->left) || !(radius < in->right)) {
        return;
    }
    const bool late = radius > in->left + 0.6 * (in->right - in->left);
    fprintf(script,
            "set arrow from first %.17g, graph 0 to first %.17g, graph 1 nohead dt %d lw 2 lc rgb "
            "'#444444' back\n",
            radius, radius, dash);
    fprintf(script, "set label '%s %.3g' at first %.17g, graph %.3g %s offset character %s0.6,0 front\n",
            name, radius, radius, 0.97 - 0.065 * rank, late ? "right" : "left", late ? "-" : "");
}

/* On the free domain: up to where kernels are valid, and where breakdown is, if a radius was left out; else what it is
 * proven to be beyond. That of the first such curve, which the non-rectangular ball is before others. */
static void write_marks(const cli_sweep *sweep, const frame *in, FILE *script)
{
    const cli_curve *curve = NULL;
    for (int c = 0; c < sweep->curves_count && curve == NULL; c++) {
        const cli_curve *one = &sweep->curves[c];
        curve = one->domain == NADIR_DOMAIN_FREE && one->count > 0 ? one : NULL;
    }
    if (curve != NULL) {
        write_mark("no negative probabilities up to", cli_sweep_any_answer(sweep)->valid_radius, 3, 0, in,
                   script);
        write_mark(curve->count < sweep->radii.count ? "breakdown" : "breakdown after", curve->breakdown, 2,
                   1, in, script);
    }
}

/* What all curves have in common, and what tells them apart. */
typedef struct common {
    bool policy, set, domain;
} common;

static common find_common(const cli_sweep *sweep)
{
    const cli_curve *first = &sweep->curves[0];
    common same = {true, true, true};
    for (int c = 1; c < sweep->curves_count; c++) {
        const cli_curve *curve = &sweep->curves[c];
        same.policy = same.policy && curve->policy == first->policy;
        same.set = same.set && curve->set == first->set;
        same.domain = same.domain && curve->domain == first->domain;
    }
    return same;
}

/* Whether a curve before this one has the same points, as far as eyes can tell. */
static bool coincides(const cli_sweep *sweep, int c, const frame *in)
{
    const cli_curve *curve = &sweep->curves[c];
    for (int b = 0; b < c; b++) {
        const cli_curve *before = &sweep->curves[b];
        bool same = before->count == curve->count && curve->count > 1;
        for (int64_t i = 0; same && i < curve->count; i++) {
            same = fabs(before->results[i].robust_return - curve->results[i].robust_return) <=
                   1e-4 * (in->top - in->bottom);
        }
        if (same) {
            return true;
        }
    }
    return false;
}

/* The name of a curve in the legend. */
static void write_name(const cli_sweep *sweep, int c, const frame *in, const cli_gnuplot *plot)
{
    const common same = find_common(sweep);
    const cli_curve *curve = &sweep->curves[c];
    const char *words[3];
    int count = 0;
    char text[256] = "";
    if (!same.policy || (same.set && same.domain)) { /* also a single curve has a name */
        words[count++] = curve->policy;
    }
    if (!same.set) {
        words[count++] = cli_set_words(curve->set);
    }
    if (!same.domain) {
        words[count++] = cli_domain_words(curve->domain);
    }
    for (int i = 0; i < count; i++) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s%s%s", i > 0 ? ", " : "",
                       words[i] == curve->policy ? "policy " : "", words[i]);
    }
    if (coincides(sweep, c, in)) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, " (the same curve)");
    }
    cli_gnuplot_text(plot, text);
}

static bool is_proven(const cli_sweep *sweep)
{
    for (int c = 0; c < sweep->curves_count; c++) {
        for (int64_t i = 0; i < sweep->curves[c].count; i++) {
            if (!sweep->curves[c].results[i].certified) {
                return false;
            }
        }
    }
    return true;
}

/* The model, the policy where there is one, and what is common to all curves. */
static void write_title(const cli_sweep *sweep, const cli_gnuplot *plot)
{
    const common same = find_common(sweep);
    const cli_curve *first = &sweep->curves[0];
    char text[256];
    char norm[32];
    char steps[48] = "";
    if (sweep->horizon > 0) {
        (void)snprintf(steps, sizeof steps, "; %" PRId64 " steps", sweep->horizon);
    }
    (void)snprintf(text, sizeof text, "norm %s%s%s%s%s%s%s",
                   cli_norm(cli_sweep_any_answer(sweep)->norm, norm), same.set ? "; " : "",
                   same.set ? cli_set_words(first->set) : "", same.domain ? "; " : "",
                   same.domain ? cli_domain_words(first->domain) : "", steps,
                   is_proven(sweep) ? "; all points proven" : "");
    cli_gnuplot_title(plot, sweep->input.model_path, same.policy ? first->policy : NULL,
                      sweep->optimistic ? "best case within each radius" : "worst case within each radius",
                      text);
    fputs("set xlabel 'radius: how far the kernel may be from the nominal one'\n", plot->script);
}

/* How a curve looks: dark enough to be told from white, and of different greys. */
typedef struct look {
    const char *colour, *dash;
} look;

static look look_of(const cli_sweep *sweep, int curve)
{
    static const char *const colours[] = {"#d55e00", "#0072b2", "#009e73", "#000000", "#8b4789",
                                          "#5a3a00", "#444444", "#c03060", "#2f4f8f"};
    static const char *const dashes[] = {"(14,6)",        "solid", "(3,4)",      "(16,5,3,5)", "(28,6)",
                                         "(8,3,2,3,2,3)", "(2,2)", "(20,4,8,4)", "(12,3,2,3)"};
    enum { LOOKS = sizeof colours / sizeof *colours };
    const int begin = sweep->curves_count == 1 ? 1 : 0; /* one curve: solid */
    return (look){colours[(curve + begin) % LOOKS], dashes[(curve + begin + curve / LOOKS) % LOOKS]};
}

static double shade_of(const cli_sweep *sweep)
{
    return sweep->curves_count == 1 ? BAND_SHADE : BANDS_SHADE;
}

/* The sample of the last line of the legend, which is the band: the colours of all curves. */
static void write_band_sample(const cli_sweep *sweep, const cli_gnuplot *plot)
{
    const double left = 0.094;
    const double each = 0.054 / sweep->curves_count;
    for (int c = 0; c < sweep->curves_count; c++) {
        fprintf(plot->script,
                "set object rectangle from screen %.4g, screen %.4g to screen %.4g, screen %.4g fc rgb '%s' "
                "fs transparent solid %g noborder\n",
                left + each * c, 18.0 / plot->height, left + each * (c + 1), 32.0 / plot->height,
                look_of(sweep, c).colour, shade_of(sweep));
    }
}

static void write_curves(const cli_sweep *sweep, const frame *in, const cli_gnuplot *plot)
{
    FILE *script = plot->script;
    fprintf(script, "plot NaN notitle");
    if (find_common(sweep).policy) {
        const double nominal = cli_sweep_any_answer(sweep)->nominal_return;
        fprintf(script, ", \\\n  %.17g with lines lw 2 dt 1 lc rgb '#999999' title 'nominal %.5g'", nominal,
                nominal);
    }
    for (int c = 0; c < sweep->curves_count; c++) {
        if (sweep->curves[c].count > 1) {
            fprintf(
                script,
                ", \\\n  $band%d using 1:2:3 with filledcurves fs transparent solid %g noborder lc rgb '%s' "
                "notitle",
                c, shade_of(sweep), look_of(sweep, c).colour);
        }
        if (sweep->curves[c].count > 1 && sweep->curves_count > 1) {
            fprintf(script, ", \\\n  $band%d using 1:%d with lines lw 1.2 dt 1 lc rgb '%s' notitle", c,
                    sweep->optimistic ? 3 : 2, look_of(sweep, c).colour);
        }
    }
    for (int c = 0; c < sweep->curves_count; c++) {
        if (sweep->curves[c].count > 0) { /* curves that coincide are seen: the first ones are wider */
            const double width = 3.5 + 1.5 * fmin(sweep->curves_count - 1 - c, 2);
            fprintf(script, ", \\\n  $curve%d using 1:2 with %s lw %g dt %s lc rgb '%s' title ", c,
                    sweep->curves[c].count > 1 ? "lines" : "points pt 7", width, look_of(sweep, c).dash,
                    look_of(sweep, c).colour);
            write_name(sweep, c, in, plot);
        }
    }
    for (int c = 0; c < sweep->curves_count; c++) {
        if (sweep->curves[c].count > 0) {
            fprintf(script, ", \\\n  $curve%d using 1:2 with points pt 7 ps %g lc rgb '%s' notitle", c,
                    sweep->radii.count <= FEW ? 0.5 : 0.3, look_of(sweep, c).colour);
        }
    }
    fprintf(script,
            ", \\\n  NaN with lines lw 0 lc rgb '#ffffff' title 'band: where the %s case is proven to lie'",
            sweep->optimistic ? "best" : "worst");
    fputc('\n', script);
}

nadir_status cli_sweep_draw(cli_run *run, const cli_sweep *sweep)
{
    /* gnuplot leaves out names of curves where there are more than fit beside the axes */
    enum { WIDTH = 1000, HEIGHT = 560, LINE = 30, MANY = 8, FURTHER = 45, FONT = 18 };
    cli_gnuplot plot;
    const frame in = make_frame(sweep);
    const int further = sweep->curves_count > MANY ? sweep->curves_count - MANY : 0;
    const int height = HEIGHT + LINE * (sweep->curves_count + 2) + FURTHER * further;
    const nadir_status status = cli_gnuplot_open(run, sweep->plot_path, WIDTH, height, FONT, &plot);
    if (status != NADIR_OK) {
        return status;
    }
    fprintf(plot.script,
            "set border 3 lw 2\n"
            "set tics nomirror out\nset grid ytics lt 1 lw 1 lc rgb '#cccccc'\nset rmargin 3\n"
            "set ylabel '%s return'\nset format x '%%g'\nset format y '%%.%dg'\n"
            "set xrange [%.17g:%.17g]\nset yrange [%.17g:%.17g]\n",
            sweep->optimistic ? "best" : "worst", cli_gnuplot_digits(in.bottom, in.top), in.left, in.right,
            in.bottom, in.top);
    write_title(sweep, &plot);
    cli_gnuplot_key(&plot, sweep->curves_count + (find_common(sweep).policy ? 1 : 0) + 1);
    write_data(sweep, &in, plot.script);
    write_marks(sweep, &in, plot.script);
    write_band_sample(sweep, &plot);
    write_curves(sweep, &in, &plot);
    return cli_gnuplot_close(run, &plot);
}

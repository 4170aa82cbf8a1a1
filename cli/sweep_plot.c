/*
 * sweep_plot.c: risk curves as a picture.
 *
 * Every curve has a dash pattern and its name at its end, so that no colour is needed to tell them apart; the
 * bounds are a grey band, which is as thin as the curve where they meet. The nominal return is a line across;
 * breakdown and the valid radius are lines from top to bottom with their numbers.
 */
#include "gnuplot.h"
#include "sweep.h"

#include <math.h>
#include <string.h>

/* Names at the ends of lines are so far apart, as a share of the height, and begin so far past the end, as a
 * share of the width. */
#define NAMES_APART 0.075
#define NAMES_PAST  0.05
/* Bounds that are further off than this many times the range of the returns are cut off, and so are curves of
 * the free domain that fall to this many times what others do. */
#define BAND_SHARE 0.5
#define FALL       3

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

/* The furthest bound that is not cut off. */
static double bounds_of(const cli_sweep *sweep, double range)
{
    const double nominal = cli_sweep_any_answer(sweep)->nominal_return;
    double reach = range;
    for (int c = 0; c < sweep->curves_count; c++) {
        for (int64_t i = 0; i < sweep->curves[c].count; i++) {
            const nadir_robust *robust = &sweep->curves[c].results[i];
            const double bound =
                sweep->optimistic ? robust->upper_bound - nominal : nominal - robust->lower_bound;
            reach = isfinite(bound) ? fmax(reach, fmin(bound, (1 + BAND_SHARE) * range)) : reach;
        }
    }
    return reach;
}

static frame make_frame(const cli_sweep *sweep)
{
    const double nominal = cli_sweep_any_answer(sweep)->nominal_return;
    double range = bounds_of(sweep, range_of(sweep));
    range = range > 0 ? range : fmax(1e-3 * fabs(nominal), 1e-9);
    const double low = sweep->optimistic ? nominal : nominal - range;
    const double high = sweep->optimistic ? nominal + range : nominal;
    return (frame){
        .left = sweep->radii.count > 1 ? sweep->radii.first : 0.5 * sweep->radii.last,
        .right =
            sweep->radii.count > 1 ? sweep->radii.last : 1.5 * sweep->radii.last + (sweep->radii.last == 0),
        .bottom = low - 0.05 * range,
        .top = high + 0.2 * range, /* with room for the names of vertical lines */
    };
}

/* Radius, return, and bounds within the frame. A single point gets a second one, so that there is a line. */
static void write_data(const cli_sweep *sweep, const frame *in, FILE *script)
{
    for (int c = 0; c < sweep->curves_count; c++) {
        const cli_curve *curve = &sweep->curves[c];
        fprintf(script, "$curve%d << EOD\n", c);
        for (int64_t i = 0; i < curve->count; i++) {
            const nadir_robust *robust = &curve->results[i];
            const bool both = isfinite(robust->lower_bound) && isfinite(robust->upper_bound);
            fprintf(script, "%.17g %.17g ", robust->radius, robust->robust_return);
            if (both) {
                fprintf(script, "%.17g %.17g\n", fmax(robust->lower_bound, in->bottom),
                        fmin(robust->upper_bound, in->top));
            } else { /* no band without both ends */
                fprintf(script, "%.17g %.17g\n", robust->robust_return, robust->robust_return);
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

/* Where breakdown is, if a radius was left out; else what it is proven to be beyond. That of the first curve
 * of the free domain, which the non-rectangular ball is before others. */
static void write_marks(const cli_sweep *sweep, const frame *in, FILE *script)
{
    const cli_curve *curve = NULL;
    for (int c = 0; c < sweep->curves_count && curve == NULL; c++) {
        const cli_curve *one = &sweep->curves[c];
        curve = one->domain == NADIR_DOMAIN_FREE && one->count > 0 ? one : NULL;
    }
    write_mark("valid up to", cli_sweep_any_answer(sweep)->valid_radius, 3, 0, in, script);
    if (curve != NULL) {
        write_mark(curve->count < sweep->radii.count ? "breakdown" : "breakdown after", curve->breakdown, 2,
                   1, in, script);
    }
}

/* A name and the end of the line that it belongs to. */
typedef struct end_name {
    char text[48];
    double x, y;
    double height; /* of the name */
} end_name;

/* Where a curve ends, or leaves the frame between two radii. */
static end_name find_end(const cli_curve *curve, const frame *in)
{
    int64_t place = curve->count - 1;
    while (place > 0 && (curve->results[place].robust_return < in->bottom ||
                         curve->results[place].robust_return > in->top)) {
        place--;
    }
    const nadir_robust *last = &curve->results[place];
    end_name end = {.x = last->radius, .y = last->robust_return};
    if (place + 1 < curve->count) {
        const nadir_robust *next = last + 1;
        const double edge = next->robust_return < in->bottom ? in->bottom : in->top;
        const double share = (edge - last->robust_return) / (next->robust_return - last->robust_return);
        end.x += share * (next->radius - last->radius);
        end.y = edge;
    }
    return end;
}

/* What tells the curves apart: their sets, their domains, or both. */
static void name_curve(const cli_sweep *sweep, const cli_curve *curve, const frame *in, end_name *end)
{
    char name[32];
    bool one_set = true;
    bool one_domain = true;
    for (int c = 0; c < sweep->curves_count; c++) {
        one_set = one_set && sweep->curves[c].set == curve->set;
        one_domain = one_domain && sweep->curves[c].domain == curve->domain;
    }
    const char *short_name = one_set ? nadir_domain_name(curve->domain) : nadir_set_name(curve->set);
    *end = find_end(curve, in);
    (void)snprintf(end->text, sizeof end->text, "%s",
                   one_set != one_domain ? short_name : cli_curve_name(curve, name));
}

/* Names that are too close to each other are moved apart, both by the same amount, until none is. */
static void move_apart(int count, end_name *names, const frame *in)
{
    const double apart = NAMES_APART * (in->top - in->bottom);
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i + 1 < count; i++) {
            const double lacks = apart - (names[i].height - names[i + 1].height);
            if (lacks > 0) {
                names[i].height += 0.5 * lacks;
                names[i + 1].height -= 0.5 * lacks;
            }
        }
        for (int i = 0; i < count; i++) {
            names[i].height = fmin(fmax(names[i].height, in->bottom + apart / 2), in->top);
        }
    }
}

/* The names of the lines, each joined to the end of its own; returns the length of the longest. */
static int write_names(const cli_sweep *sweep, double nominal, const frame *in, const cli_gnuplot *plot)
{
    end_name names[CLI_SWEEP_CURVES + 1] = {{.x = in->right, .y = nominal}};
    int count = 1;
    int longest = 0;
    (void)snprintf(names[0].text, sizeof names[0].text, "nominal %.4g", nominal);
    for (int c = 0; c < sweep->curves_count; c++) {
        if (sweep->curves[c].count > 0) {
            end_name made;
            int place = count++;
            name_curve(sweep, &sweep->curves[c], in, &made);
            for (; place > 0 && names[place - 1].y < made.y; place--) {
                names[place] = names[place - 1];
            }
            names[place] = made;
        }
    }
    for (int i = 0; i < count; i++) {
        names[i].height = names[i].y;
        longest = (int)strlen(names[i].text) > longest ? (int)strlen(names[i].text) : longest;
    }
    move_apart(count, names, in);
    for (int i = 0; i < count; i++) {
        const double x = names[i].x + NAMES_PAST * (in->right - in->left);
        fprintf(plot->script,
                "set arrow from first %.17g, first %.17g to first %.17g, first %.17g nohead lw 1 lc rgb "
                "'#666666'\n",
                names[i].x, names[i].y, x, names[i].height);
        fputs("set label ", plot->script);
        cli_gnuplot_text(plot, names[i].text);
        fprintf(plot->script, " at first %.17g, first %.17g left offset character 0.3,0 front\n", x,
                names[i].height);
    }
    return longest;
}

static void write_curves(const cli_sweep *sweep, double nominal, FILE *script)
{
    /* dark enough to be told from white, and of different greys */
    static const char *const colours[] = {"#000000", "#0072b2", "#d55e00", "#009e73", "#8b4789",
                                          "#5a3a00", "#444444", "#c03060", "#2f4f8f"};
    static const char *const dashes[] = {"solid",         "(14,6)", "(3,4)",      "(16,5,3,5)", "(28,6)",
                                         "(8,3,2,3,2,3)", "(2,2)",  "(20,4,8,4)", "(12,3,2,3)"};
    fprintf(script, "plot %.17g with lines lw 2 dt 1 lc rgb '#999999'", nominal);
    for (int c = 0; c < sweep->curves_count; c++) {
        if (sweep->curves[c].count > 0) {
            fprintf(script,
                    ", \\\n  $curve%d using 1:3:4 with filledcurves fs transparent solid 0.25 noborder "
                    "lc rgb '%s'",
                    c, colours[c]);
        }
    }
    for (int c = 0; c < sweep->curves_count; c++) {
        if (sweep->curves[c].count > 0) {
            fprintf(script, ", \\\n  $curve%d using 1:2 with %s lw 4 dt %s lc rgb '%s'", c,
                    sweep->curves[c].count > 1 ? "lines" : "points pt 7", dashes[c], colours[c]);
        }
    }
    fputc('\n', script);
}

nadir_status cli_sweep_draw(cli_run *run, const cli_sweep *sweep)
{
    enum { WIDTH = 1000, HEIGHT = 640, FONT = 20 };
    cli_gnuplot plot;
    const frame in = make_frame(sweep);
    const double nominal = cli_sweep_any_answer(sweep)->nominal_return;
    const nadir_status status = cli_gnuplot_open(run, sweep->plot_path, WIDTH, HEIGHT, FONT, &plot);
    if (status != NADIR_OK) {
        return status;
    }
    fprintf(plot.script,
            "unset key\nset border 3 lw 2\nset tics nomirror out\nset tmargin 1\nset bmargin 3.5\n"
            "set xlabel 'radius'\nset ylabel '%s return'\nset format '%%g'\n"
            "set xrange [%.17g:%.17g]\nset yrange [%.17g:%.17g]\n",
            sweep->optimistic ? "best" : "worst", in.left, in.right, in.bottom, in.top);
    write_data(sweep, &in, plot.script);
    write_marks(sweep, &in, plot.script);
    fprintf(plot.script, "set rmargin %d\n", write_names(sweep, nominal, &in, &plot) + 4);
    write_curves(sweep, nominal, plot.script);
    return cli_gnuplot_close(run, &plot);
}

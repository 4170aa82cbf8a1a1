/* report_chart.c: the risk curves of a page as SVG; see report.h. */
#include "io/report.h"

#include <inttypes.h>
#include <math.h>

/* Margins and height in points; curves are clipped to the frame. */
enum { LEFT = 64, RIGHT = 18, TOP = 26, BOTTOM = 44, HEIGHT = 320, TICKS = 6 };

typedef struct chart {
    const nadir_report *report;
    nadir_output *out;
    double width;
    double low[2], high[2]; /* of radii and returns */
} chart;

typedef enum curve { POLICY, KEPT } curve;

static double to_x(const chart *self, double radius)
{
    return LEFT + (radius - self->low[0]) / (self->high[0] - self->low[0]) * (self->width - LEFT - RIGHT);
}

static double to_y(const chart *self, double value)
{
    const double y =
        HEIGHT - BOTTOM - (value - self->low[1]) / (self->high[1] - self->low[1]) * (HEIGHT - TOP - BOTTOM);
    return fmax(-HEIGHT, fmin(y, 2 * HEIGHT)); /* a bound may be infinite */
}

/* NULL: not known. */
static const nadir_robust *get(const nadir_report *report, int64_t place, curve which)
{
    const nadir_report_point *point = &report->points[place];
    const nadir_robust *robust = which == POLICY ? &point->policy.robust : &point->kept;
    return robust->stop_reason != NULL ? robust : NULL;
}

static bool has_limit(const nadir_report_point *point)
{
    return point->best.robust.stop_reason != NULL && isfinite(point->optimum.optimality_upper_bound);
}

static void stretch(chart *self, int axis, double value)
{
    if (isfinite(value)) {
        self->low[axis] = fmin(self->low[axis], value);
        self->high[axis] = fmax(self->high[axis], value);
    }
}

/* What was found decides; bounds may reach below by half as much again. */
static void find_ranges(chart *self)
{
    const nadir_report *report = self->report;
    stretch(self, 0, 0);
    stretch(self, 1, report->nominal.nominal_return);
    for (int64_t i = 0; i < report->count; i++) {
        stretch(self, 0, report->points[i].radius);
        for (curve which = POLICY; which <= KEPT; which++) {
            const nadir_robust *robust = get(report, i, which);
            stretch(self, 1, robust != NULL ? robust->robust_return : NAN);
        }
        stretch(self, 1,
                has_limit(&report->points[i]) ? report->points[i].optimum.optimality_upper_bound : NAN);
    }
    const double reach = self->low[1] - 0.5 * (self->high[1] - self->low[1]);
    double lowest = self->low[1];
    for (int64_t i = 0; i < report->count; i++) {
        for (curve which = POLICY; which <= KEPT; which++) {
            const nadir_robust *robust = get(report, i, which);
            lowest = fmin(lowest, robust != NULL ? fmax(robust->lower_bound, reach) : lowest);
        }
    }
    self->low[1] = lowest;
    for (int axis = 0; axis < 2; axis++) {
        const double span = self->high[axis] - self->low[axis];
        const double room = span > 0 ? 0.04 * span : fmax(1e-3 * fabs(self->high[axis]), 1e-9);
        self->high[axis] += axis == 1 || span == 0 ? room : 0;
        self->low[axis] -= axis == 1 ? room : 0;
    }
}

/* The distance of round numbers, 1, 2 or 5 times a power of ten. */
static double find_step(double span)
{
    const double rough = span / TICKS;
    const double unit = pow(10, floor(log10(rough)));
    return unit * (rough <= unit ? 1 : rough <= 2 * unit ? 2 : rough <= 5 * unit ? 5 : 10);
}

/* step: the distance of the ticks, which their digits tell apart. */
static void put_tick(const chart *self, int axis, double value, double step)
{
    char text[32];
    const double largest = fmax(fabs(self->low[axis]), fabs(self->high[axis]));
    const double digits = floor(log10(largest)) - floor(log10(step)) + 1;
    (void)snprintf(text, sizeof text, "%.*g", digits > 5 ? (int)fmin(digits, 17) : 5, value);
    if (axis == 0) {
        nadir_output_format(self->out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>",
                            to_x(self, value), HEIGHT - BOTTOM + 18, text);
    } else {
        nadir_output_format(self->out,
                            "<path class=\"grid\" d=\"M%d %.1fH%.1f\"/><text x=\"%d\" y=\"%.1f\" "
                            "text-anchor=\"end\">%s%s</text>",
                            LEFT, to_y(self, value), self->width - RIGHT, LEFT - 8, to_y(self, value) + 4,
                            value < 0 ? "−" : "", text + (value < 0));
    }
}

static void put_axes(const chart *self)
{
    for (int axis = 0; axis < 2; axis++) {
        const double step =
            find_step((self->high[axis] - self->low[axis]) * (axis == 0 ? 720 / self->width : 1));
        const int64_t first = (int64_t)ceil(self->low[axis] / step - 1e-9);
        const int64_t count = (int64_t)floor(self->high[axis] / step + 1e-9) - first;
        for (int64_t i = 0; i <= count && i < 50; i++) {
            put_tick(self, axis, (double)(first + i) * step, step);
        }
    }
    nadir_output_format(self->out, "<path class=\"axis\" d=\"M%d %dH%.1f\"/>", LEFT, HEIGHT - BOTTOM,
                        self->width - RIGHT);
    nadir_output_format(self->out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"end\">radius</text>",
                        self->width - RIGHT, HEIGHT - 6);
    nadir_output_format(self->out, "<text x=\"%d\" y=\"12\">%s</text>", LEFT,
                        self->report->model->reaches ? "probability in the worst case"
                                                     : "return in the worst case");
}

static void put_curve(const chart *self, curve which, const char *class)
{
    const nadir_report *report = self->report;
    int64_t shown = 0;
    nadir_output_format(self->out, "<path class=\"band %s\" d=\"M", class);
    for (int64_t i = 0; i < 2 * report->count; i++) { /* there by what was found, back by what is proven */
        const bool back = i >= report->count;
        const int64_t place = back ? 2 * report->count - 1 - i : i;
        const nadir_robust *robust = get(report, place, which);
        if (robust != NULL) {
            nadir_output_format(self->out, "%s%.1f %.1f", shown++ == 0 ? "" : "L",
                                to_x(self, report->points[place].radius),
                                to_y(self, back ? robust->lower_bound : robust->robust_return));
        }
    }
    nadir_output_format(self->out, "%sZ\"/><path class=\"curve %s\" d=\"M", shown == 0 ? "0 0" : "", class);
    shown = 0;
    for (int64_t i = 0; i < report->count; i++) {
        const nadir_robust *robust = get(report, i, which);
        if (robust != NULL) {
            nadir_output_format(self->out, "%s%.1f %.1f", shown++ == 0 ? "" : "L",
                                to_x(self, report->points[i].radius), to_y(self, robust->robust_return));
        }
    }
    nadir_output_text(self->out, shown == 0 ? "0 0\"/>" : "\"/>");
}

static void put_limit(const chart *self)
{
    bool pen = false;
    nadir_output_text(self->out, "<path class=\"curve limit\" d=\"");
    for (int64_t i = 0; i < self->report->count; i++) {
        const nadir_report_point *point = &self->report->points[i];
        if (has_limit(point)) {
            nadir_output_format(self->out, "%s%.1f %.1f", pen ? "L" : "M", to_x(self, point->radius),
                                to_y(self, point->optimum.optimality_upper_bound));
            pen = true;
        }
    }
    nadir_output_text(self->out, pen ? "\"/>" : "M0 0\"/>");
}

/* The radius that the slider is at: a line and a dot on each curve, shown one at a time. */
static void put_cursors(const chart *self)
{
    const nadir_report *report = self->report;
    for (int64_t i = 0; i < report->count; i++) {
        const double x = to_x(self, report->points[i].radius);
        nadir_output_format(self->out,
                            "<g class=\"at cursor\" data-at=\"%" PRId64 "\"%s><path d=\"M%.1f %dV%d\"/>", i,
                            i == report->mark ? "" : " hidden=\"\"", x, TOP, HEIGHT - BOTTOM);
        for (curve which = POLICY; which <= KEPT; which++) {
            const nadir_robust *robust = get(report, i, which);
            if (robust != NULL) {
                nadir_output_format(self->out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"/>",
                                    which == POLICY ? "one" : "two", x, to_y(self, robust->robust_return));
            }
        }
        nadir_output_text(self->out, "</g>");
    }
}

void nadir_report_chart(const nadir_report *report, double width, nadir_output *output)
{
    chart self = {report, output, width, {INFINITY, INFINITY}, {-INFINITY, -INFINITY}};
    find_ranges(&self);
    nadir_output_format(
        output,
        "<svg class=\"%s\" viewBox=\"0 0 %.0f %d\" role=\"img\" aria-label=\"The worst return of both "
        "policies against the radius\"><clipPath id=\"frame%.0f\"><rect x=\"%d\" y=\"%d\" "
        "width=\"%.0f\" height=\"%d\"/></clipPath>",
        width > 500 ? "wide" : "narrow", width, HEIGHT, width, LEFT, TOP, width - LEFT - RIGHT + 6,
        HEIGHT - TOP - BOTTOM);
    put_axes(&self);
    const double mark = to_x(&self, report->points[report->mark].radius);
    nadir_output_format(output, "<path class=\"mark\" d=\"M%.1f %dV%d\"/>", mark, TOP, HEIGHT - BOTTOM);
    nadir_output_format(output, "<g clip-path=\"url(#frame%.0f)\">", width);
    put_limit(&self);
    put_curve(&self, POLICY, "one");
    put_curve(&self, KEPT, "two");
    nadir_output_text(output, "</g>");
    put_cursors(&self);
    nadir_output_text(output, "</svg>\n");
}

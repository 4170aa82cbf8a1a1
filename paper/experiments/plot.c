/* plot.c: pictures of an experiment, SVG and PNG from one script; see experiment.h. */
#include "gnuplot.h"
#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

nadir_status experiment_plot_open(experiment_run *run, const char *stem, int width, int height,
                                  experiment_plot *plot)
{
    *plot = (experiment_plot){.run = run, .width = width, .height = height};
    (void)snprintf(plot->stem, sizeof plot->stem, "%s", stem);
    plot->script = tmpfile();
    if (plot->script == NULL) {
        return experiment_keep(
            run, cli_fail(run->cli, NADIR_ERROR_IO, "%s: no temporary file: %s", stem, strerror(errno)));
    }
    fputs("set encoding utf8\n"
          "set border 3 linewidth 2\nset xtics out nomirror\nset ytics out nomirror\n"
          "set grid linewidth 1 linecolor rgb '#dddddd' dashtype 1\nset grid noxtics ytics\n"
          "set key outside right center Left reverse samplen 2 spacing 1.2\n"
          "set pointsize 1.3\n",
          plot->script);
    return NADIR_OK;
}

/* gnuplot's marks are larger in SVG than in PNG, where they hide what they mark: with this both look alike,
 * and so do their outlines, which shrink with them. */
#define MARK_SCALE   0.6
#define MARK_OUTLINE "0.28"

/* Copies what lies before `end`, with the outlines of marks changed: "<circle id='gpPt5'
 * stroke-width='0.167'". */
static void copy_outlines(FILE *out, const char *cursor, const char *end)
{
    static const char thin[] = "stroke-width='0.167'";
    for (const char *found; (found = strstr(cursor, thin)) != NULL && found < end;
         cursor = found + strlen(thin)) {
        fprintf(out, "%.*sstroke-width='" MARK_OUTLINE "'", (int)(found - cursor), cursor);
    }
    fwrite(cursor, 1, (size_t)(end - cursor), out);
}

/* Copies the picture with the scales of marks, "<use xlink:href='#gpPt4' transform='... scale(7.80)'",
 * changed; marks that are defined by others have none. */
static void copy_marks(FILE *out, const char *svg)
{
    const char *cursor = svg;
    for (const char *mark = svg; (mark = strstr(mark, "'#gpPt")) != NULL; mark++) {
        const char *scale = strstr(mark, "scale(");
        const char *end = strchr(mark, '>');
        if (scale == NULL || end == NULL || scale > end) {
            continue;
        }
        const char *number = scale + strlen("scale(");
        char *rest;
        const double size = strtod(number, &rest);
        copy_outlines(out, cursor, number);
        fprintf(out, "%.2f", MARK_SCALE * size);
        mark = cursor = rest;
    }
    copy_outlines(out, cursor, cursor + strlen(cursor));
}

static nadir_status shrink_marks(cli_run *cli, const char *path)
{
    size_t length;
    cli_output output;
    char *svg = experiment_slurp(cli, path, &length);
    if (svg == NULL) {
        return experiment_unreadable(cli, path);
    }
    nadir_status status = cli_output_open(cli, path, &output);
    if (status == NADIR_OK) {
        copy_marks(output.out, svg);
        status = cli_output_close(cli, &output);
    }
    free(svg);
    return status;
}

static nadir_status draw(experiment_plot *plot, const char *ending)
{
    enum { FONT = 16 };
    cli_run *cli = plot->run->cli;
    cli_gnuplot picture;
    char path[EXPERIMENT_PATH];
    nadir_status status = experiment_file(plot->run, plot->stem, ending, path);
    if (status == NADIR_OK) {
        status = cli_gnuplot_open(cli, path, plot->width, plot->height, FONT, &picture);
    }
    if (status == NADIR_OK) {
        (void)fwrite(plot->text, 1, plot->length, picture.script);
        status = cli_gnuplot_close(cli, &picture);
    }
    if (status == NADIR_OK && strcmp(ending, ".svg") == 0) {
        status = shrink_marks(cli, path);
    }
    return experiment_keep(plot->run, status);
}

nadir_status experiment_plot_close(experiment_plot *plot)
{
    if (plot->script == NULL) {
        return plot->run->status;
    }
    nadir_status status = NADIR_OK;
    plot->text = experiment_take(plot->script, &plot->length);
    plot->script = NULL;
    if (plot->text == NULL) {
        status = experiment_keep(
            plot->run, cli_fail(plot->run->cli, errno == ENOMEM ? NADIR_ERROR_MEMORY : NADIR_ERROR_IO,
                                "%s: the script of the picture is lost: %s", plot->stem, strerror(errno)));
    }
    status = status == NADIR_OK ? draw(plot, ".svg") : status;
    status = status == NADIR_OK ? draw(plot, ".png") : status;
    experiment_plot_drop(plot);
    return status;
}

nadir_status experiment_plot_finish(experiment_plot *plot, nadir_status status)
{
    if (status == NADIR_OK) {
        return experiment_plot_close(plot);
    }
    experiment_plot_drop(plot);
    return status;
}

void experiment_plot_drop(experiment_plot *plot)
{
    if (plot->script != NULL) {
        (void)fclose(plot->script);
        plot->script = NULL;
    }
    free(plot->text);
    plot->text = NULL;
}

/* A whole number above the line. */
static void print_exponent(FILE *script, int exponent)
{
    static const char *const digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    char text[16];
    (void)snprintf(text, sizeof text, "%d", exponent);
    for (const char *cursor = text; *cursor != '\0'; cursor++) {
        fputs(*cursor == '-' ? "⁻" : digits[*cursor - '0'], script);
    }
}

void experiment_plot_tens(const experiment_plot *plot, char axis, int first, int last, int step)
{
    fprintf(plot->script, "set %ctics (", axis);
    for (int exponent = first; exponent <= last; exponent += step) {
        fprintf(plot->script, "%s'", exponent > first ? ", " : "");
        if (exponent >= -2 && exponent <= 3) {
            fprintf(plot->script, "%g", pow(10, exponent));
        } else {
            fputs("10", plot->script);
            print_exponent(plot->script, exponent);
        }
        fprintf(plot->script, "' 1e%d", exponent);
    }
    fputs(")\n", plot->script);
}

void experiment_plot_line(const experiment_plot *plot, const char *name)
{
    const cli_style *style = cli_style_find(name);
    fprintf(plot->script, " linecolor rgb '%s' dashtype %d ", style->colour, style->dash);
}

void experiment_plot_style(const experiment_plot *plot, const char *name)
{
    experiment_plot_line(plot, name);
    fprintf(plot->script, "pointtype %d ", cli_style_find(name)->point);
}

void experiment_plot_title(const experiment_plot *plot, const char *name)
{
    fprintf(plot->script, " title '%s' ", cli_style_find(name)->label);
}

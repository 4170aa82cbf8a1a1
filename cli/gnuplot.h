/*
 * gnuplot.h: pictures drawn by gnuplot, as SVG or PNG.
 *
 * The script goes to gnuplot's standard input and the picture comes from its standard output: no name of a
 * file stands in it. Names of the user's go through cli_gnuplot_text, since gnuplot runs what it finds
 * between backquotes.
 */
#ifndef NADIR_CLI_GNUPLOT_H
#define NADIR_CLI_GNUPLOT_H

#include "cli.h"

typedef struct cli_gnuplot {
    const char *path;
    int height;
    FILE *script; /* write the commands to this; NULL: closed */
} cli_gnuplot;

/* NADIR_ERROR_UNSUPPORTED unless the path ends with .svg or .png, or is NULL: no picture. */
nadir_status cli_gnuplot_check(cli_run *run, const char *path);

/* A picture of width x height points at font size `font`. */
nadir_status cli_gnuplot_open(cli_run *run, const char *path, int width, int height, int font,
                              cli_gnuplot *plot);
/* Text between single quotes, with what gnuplot might mistake for something else replaced. */
void cli_gnuplot_text(const cli_gnuplot *plot, const char *text);
/* The title: what the picture shows of which model and policy, and below that its details, in one or more lines. Folders are left
 * out of names. policy, detail: NULL: none.
 * Sets the margin above. */
void cli_gnuplot_title(const cli_gnuplot *plot, const char *model, const char *policy, const char *shows,
                       const char *detail);
/* A legend of so many lines below the axes, where it hides nothing. Sets the margin there. */
void cli_gnuplot_key(const cli_gnuplot *plot, int lines);
/* 1, 2 or 5 times a power of ten, of which at most `count` fit into the range. */
double cli_gnuplot_step(double range, double count);
/* Digits that tell the tics of an axis apart: 6 or more. */
int cli_gnuplot_digits(double low, double high);
/* Draws; the file is written whole or not at all. */
nadir_status cli_gnuplot_close(cli_run *run, cli_gnuplot *plot);

/*
 * How methods and sets look in pictures: the same colour and mark everywhere. The colours are those of Okabe
 * and Ito (2008), which most eyes can tell apart, and some of Paul Tol's; the marks tell them apart in grey
 * print.
 */
typedef struct cli_style {
    const char *name;   /* of a method (nadir_method_name), of a set, or of a part that things play */
    const char *label;  /* for legends */
    const char *colour; /* "#0072b2" */
    int point;          /* gnuplot's pointtype */
    int dash;           /* gnuplot's dashtype */
} cli_style;

/* Never NULL: what is not known is grey. */
const cli_style *cli_style_find(const char *name);

#endif

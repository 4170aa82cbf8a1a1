/*
 * styles.h: how methods and sets look in pictures: the same colour and mark for the same thing everywhere.
 *
 * The colours are those of Okabe and Ito (2008), which most eyes can tell apart, and some of Paul Tol's; the
 * marks tell them apart in grey print.
 */
#ifndef NADIR_CLI_STYLES_H
#define NADIR_CLI_STYLES_H

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

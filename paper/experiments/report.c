/* report.c: the report as a page; see report.h. */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------- the parts */

/* The name of the processor, for the times; "" where the system does not tell. */
static void find_processor(char name[128])
{
    char line[256];
    FILE *in = fopen("/proc/cpuinfo", "re");
    name[0] = '\0';
    while (in != NULL && name[0] == '\0' && fgets(line, sizeof line, in) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            (void)snprintf(name, 128, " on %.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        }
    }
    if (in != NULL) {
        (void)fclose(in);
    }
}

static void print_sources(FILE *out, const experiment *which)
{
    fputs("<div class=\"sources\"><h3>In the paper</h3>\n<dl>\n", out);
    for (const experiment_source *source = which->sources; source->place != NULL; source++) {
        fputs("<dt><b>", out);
        experiment_html(out, source->place);
        fputs(":</b> <q>", out);
        experiment_html(out, source->caption);
        fputs("</q></dt>\n<dd>", out);
        experiment_html(out, source->reported);
        fputs("</dd>\n", out);
    }
    fputs("</dl></div>\n", out);
}

nadir_status experiment_section_open(experiment_run *run)
{
    const experiment *which = run->experiment;
    run->section_text = run->findings_text = NULL;
    run->section = tmpfile();
    run->findings = tmpfile();
    if (run->section == NULL || run->findings == NULL) {
        return cli_fail(run->cli, NADIR_ERROR_IO, "no temporary file for the report: %s", strerror(errno));
    }
    fprintf(run->section, "<section id=\"%s\">\n<h2>", which->name);
    experiment_html(run->section, which->title);
    fputs("</h2>\n", run->section);
    print_sources(run->section, which);
    experiment_say(run, "%s", which->about);
    return NADIR_OK;
}

static nadir_status write_part(experiment_run *run, const char *stem, const char *text)
{
    char path[EXPERIMENT_PATH];
    cli_output output;
    nadir_status status = experiment_file(run, stem, ".html", path);
    if (status == NADIR_OK) {
        status = cli_output_open(run->cli, path, &output);
    }
    if (status == NADIR_OK) {
        fputs(text, output.out);
        status = cli_output_close(run->cli, &output);
    }
    return status;
}

static const char findings_head[] =
    "<thead><tr><th>What</th><th>The paper says</th><th>We measure</th><th>Why they differ, or "
    "agree</th></tr></thead>\n";

static void print_end(experiment_run *run, double seconds)
{
    char processor[128];
    find_processor(processor);
    if (run->findings_text != NULL && run->findings_length > 0) {
        fprintf(run->section,
                "<div class=\"wide\"><table class=\"findings\">\n%s<tbody>\n%s</tbody></table></div>\n",
                findings_head, run->findings_text);
    }
    fprintf(run->section,
            "<p class=\"made\">Made by nadir %s with %s settings, seed %" PRIu64 ", %d thread%s",
            nadir_version(), run->quick ? "quick" : "full", run->seed,
            (int)nadir_context_threads(run->context), nadir_context_threads(run->context) == 1 ? "" : "s");
    experiment_html(run->section, processor);
    fprintf(run->section, ", in %.3g s.</p>\n</section>\n", seconds);
}

nadir_status experiment_section_close(experiment_run *run, nadir_status status, double seconds)
{
    int lost = 0;
    if (run->findings != NULL) {
        run->findings_text = experiment_take(run->findings, &run->findings_length);
        lost = errno;
    }
    if (run->section != NULL) {
        print_end(run, seconds);
        run->section_text = experiment_take(run->section, &run->section_length);
        lost = lost != 0 ? lost : errno;
    }
    run->section = run->findings = NULL;
    if (run->status != NADIR_OK) { /* the first failure is what the user has to know */
        status = run->status;
        memcpy(run->cli->error, run->error, sizeof run->cli->error);
    }
    if (status == NADIR_OK && lost != 0) {
        status = cli_fail(run->cli, lost == ENOMEM ? NADIR_ERROR_MEMORY : NADIR_ERROR_IO,
                          "a part of the report is lost: %s", strerror(lost));
    }
    if (status == NADIR_OK) {
        status = write_part(run, "section", run->section_text);
    }
    if (status == NADIR_OK) {
        status = write_part(run, "findings", run->findings_text);
    }
    free(run->section_text);
    free(run->findings_text);
    return status;
}

/* -------------------------------------------------------------------------------------------- the page */

/* Dark pictures are the light ones inverted, hues turned back, and brighter, for orange would be brown. */
static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<link rel=\"icon\" href=\"data:,\">\n"
    "<title>Dual Formulation for Non-Rectangular Lp Robust Markov Decision Processes, remade</title>\n"
    "<style>\n"
    ":root{--ink:#1b1b1b;--page:#fff;--soft:#5a5a5a;--line:#d0d0d0;--panel:#f4f5f7;--link:#0b57a4}\n"
    "@media (prefers-color-scheme:dark){:root{--ink:#e6e6e6;--page:#16181b;--soft:#a8a8a8;--line:#3c4046;"
    "--panel:#1f2226;--link:#7db7f0}.picture svg{filter:invert(.91) hue-rotate(180deg) brightness(1.4)}}\n"
    "*{box-sizing:border-box}body{margin:0 auto;padding:1.5rem;max-width:68rem;background:var(--page);"
    "color:var(--ink);font:16px/1.55 system-ui,sans-serif}\n"
    "h1{font-size:1.75rem;line-height:1.25}h2{margin-top:3rem;padding-top:1rem;border-top:2px solid "
    "var(--line);font-size:1.4rem}h3{font-size:1rem;margin:0}\n"
    "a{color:var(--link)}p,dd,figcaption{max-width:52rem}\n"
    "figure{margin:1.5rem 0}.picture svg{display:block;max-width:100%;height:auto}\n"
    "figcaption{color:var(--soft);margin-top:.5rem}figcaption b,figcaption q{color:var(--ink)}\n"
    ".files{display:block;font-size:.85rem}\n"
    ".sources{background:var(--panel);border-left:4px solid var(--line);padding:.75rem 1rem;margin:1rem 0}\n"
    ".sources dl{margin:.5rem 0 0}.sources dd{margin:0 0 .6rem 1rem;color:var(--soft)}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;margin:1rem 0;font-size:.92rem}\n"
    "caption{text-align:left;font-weight:600;padding-bottom:.4rem}\n"
    "th,td{padding:.35rem .7rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}\n"
    "thead th{border-bottom:2px solid var(--soft)}.number{text-align:right;font-variant-numeric:tabular-nums;"
    "white-space:nowrap}\n"
    ".index{list-style:none;padding:0}.index li{margin:.15rem 0}.findings{min-width:46rem}"
    ".findings td:first-child{font-weight:600}.made{color:var(--soft);font-size:.88rem}\n"
    "@media print{:root{--ink:#000;--page:#fff;--soft:#333;--line:#bbb;--panel:#fff;--link:#000}\n"
    "body{max-width:none;padding:0;font-size:10.5pt}.picture svg{filter:none!important;max-width:100%}"
    "figure,tr,.sources{break-inside:avoid}h2,h3{break-after:avoid}.files{display:none}"
    ".wide{overflow:visible}.findings{min-width:0}a{text-decoration:none}}\n"
    "</style>\n</head>\n<body>\n"
    "<h1>Dual Formulation for Non-Rectangular L<sub>p</sub> Robust Markov Decision Processes, remade</h1>\n"
    "<p>Every table and figure of the paper by Kumar, Gupta, Elfatihi, Ramponi, Levy and Mannor (2025, "
    "<a href=\"https://arxiv.org/abs/2502.09432\">arXiv:2502.09432</a>), made anew by <code>nadir "
    "reproduce</code>. Each section quotes the caption in the paper and what it reports, shows what we "
    "measure, "
    "and says why the two differ. The data of a picture is the CSV file beside it; the same seed gives "
    "the "
    "same data, except for times.</p>\n";

/* An experiment's part of its folder, or nothing. */
static char *read_part(const experiment_run *run, const char *name)
{
    char path[EXPERIMENT_PATH];
    size_t length;
    return snprintf(path, sizeof path, "%s/%s", run->folder, name) < (int)sizeof path
               ? experiment_slurp(run->cli, path, &length)
               : NULL;
}

/* Calls `part` for every experiment, with its folder and whether it is finished. */
static void for_each(cli_run *cli, const char *out_folder, FILE *out,
                     void (*part)(const experiment_run *run, bool finished, FILE *out))
{
    const experiment *which;
    for (int64_t i = 0; (which = experiment_at(i)) != NULL; i++) {
        char folder[EXPERIMENT_PATH];
        const experiment_run run = {
            .cli = cli, .context = cli->context, .experiment = which, .folder = folder};
        if (snprintf(folder, sizeof folder, "%s/%s", out_folder, which->name) < (int)sizeof folder) {
            part(&run, experiment_manifest_holds(&run, false), out);
        }
    }
}

static void print_contents(const experiment_run *run, bool finished, FILE *out)
{
    const experiment *which = run->experiment;
    fputs("<li>", out);
    if (finished) {
        fprintf(out, "<a href=\"#%s\">", which->name);
    }
    experiment_html(out, which->title);
    fputs(finished ? "</a></li>\n" : " (not made yet)</li>\n", out);
}

/* ------------------------------------------------------------------------------------- the paper's order */

/* "Figure 4, section Experiments": kind and number; other places have none. */
static bool is_numbered(const char *place, const char *kind, int number)
{
    char start[32];
    const int length = snprintf(start, sizeof start, "%s %d,", kind, number);
    return strncmp(place, start, (size_t)length) == 0;
}

/* The source with a link to its first picture, or to the section. */
static void print_source(const experiment_run *run, bool finished, int k, FILE *out)
{
    const experiment_source *source = &run->experiment->sources[k];
    char anchor[2 * EXPERIMENT_NAME];
    char mark[2 * EXPERIMENT_NAME + 8];
    char *section = finished ? read_part(run, "section.html") : NULL;
    (void)snprintf(anchor, sizeof anchor, "%s-source-%d", run->experiment->name, k);
    (void)snprintf(mark, sizeof mark, "id=\"%s\"", anchor);
    fputs("<li>", out);
    if (finished) {
        const bool shown = section != NULL && strstr(section, mark) != NULL;
        fprintf(out, "<a href=\"#%s\">", shown ? anchor : run->experiment->name);
    }
    experiment_html(out, source->place);
    fputs(finished ? "</a>: <q>" : ": <q>", out);
    experiment_html(out, source->caption);
    fputs(finished ? "</q></li>\n" : "</q> (not made yet)</li>\n", out);
    free(section);
}

/* Every experiment's sources of this kind and number. */
static void print_numbered(cli_run *cli, const char *out_folder, const char *kind, int number, FILE *out)
{
    const experiment *which;
    for (int64_t i = 0; (which = experiment_at(i)) != NULL; i++) {
        for (int k = 0; which->sources[k].place != NULL; k++) {
            char folder[EXPERIMENT_PATH];
            const experiment_run run = {
                .cli = cli, .context = cli->context, .experiment = which, .folder = folder};
            if (is_numbered(which->sources[k].place, kind, number) &&
                snprintf(folder, sizeof folder, "%s/%s", out_folder, which->name) < (int)sizeof folder) {
                print_source(&run, experiment_manifest_holds(&run, false), k, out);
            }
        }
    }
}

/* Figures and tables as the paper numbers them. */
static void print_index(cli_run *cli, const char *out_folder, FILE *out)
{
    enum { LIMIT = 30 };
    static const char *const kinds[] = {"Figure", "Table"};
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        for (int number = 1; number <= LIMIT; number++) {
            print_numbered(cli, out_folder, kinds[kind], number, out);
        }
    }
}

/* ------------------------------------------------------------------------------------------- the whole */

static void print_part(const experiment_run *run, bool finished, FILE *out, const char *name)
{
    char *text = finished ? read_part(run, name) : NULL;
    fputs(text != NULL ? text : "", out);
    free(text);
}

static void print_findings(const experiment_run *run, bool finished, FILE *out)
{
    print_part(run, finished, out, "findings.html");
}

static void print_section(const experiment_run *run, bool finished, FILE *out)
{
    print_part(run, finished, out, "section.html");
}

/* ------------------------------------------------------------------------------------- the findings alone */

/* A character of HTML, or what stands for one, as Markdown within a table; returns what follows. */
static const char *print_markdown_character(FILE *out, const char *cursor)
{
    static const char *const entities[][2] = {{"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}};
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) {
        if (strncmp(cursor, entities[i][0], strlen(entities[i][0])) == 0) {
            fputs(entities[i][1], out);
            return cursor + strlen(entities[i][0]);
        }
    }
    fputs(strchr("|*_", *cursor) != NULL ? "\\" : "", out);
    fputc(*cursor, out);
    return cursor + 1;
}

/* The rows <tr><td>…</td>…</tr> as rows of Markdown. */
static void print_markdown(const experiment_run *run, bool finished, FILE *out)
{
    char *text = finished ? read_part(run, "findings.html") : NULL;
    for (const char *cursor = text != NULL ? text : ""; *cursor != '\0';) {
        if (strncmp(cursor, "<tr><td>", 8) == 0) {
            fprintf(out, "| `%s`: ", run->experiment->name);
            cursor += 8;
        } else if (strncmp(cursor, "</td><td>", 9) == 0) {
            fputs(" | ", out);
            cursor += 9;
        } else if (strncmp(cursor, "</td></tr>\n", 11) == 0) {
            fputs(" |\n", out);
            cursor += 11;
        } else {
            cursor = print_markdown_character(out, cursor);
        }
    }
    free(text);
}

/* Writes no page where a part is missing. */
static nadir_status finish(cli_run *cli, cli_output *page)
{
    if (cli->trouble != NADIR_OK) {
        cli_output_drop(page);
        return cli->trouble;
    }
    return cli_output_close(cli, page);
}

static nadir_status write_findings(cli_run *cli, const char *out)
{
    char path[EXPERIMENT_PATH];
    cli_output file;
    (void)snprintf(path, sizeof path, "%s/findings.md", out); /* no longer than the report's */
    const nadir_status status = cli_output_open(cli, path, &file);
    if (status != NADIR_OK) {
        return status;
    }
    fputs("| what | the paper says | we measure | why they differ, or agree |\n|---|---|---|---|\n",
          file.out);
    for_each(cli, out, file.out, print_markdown);
    return finish(cli, &file);
}

nadir_status experiment_report_write(cli_run *cli, const char *out, char path[EXPERIMENT_PATH])
{
    cli_output page;
    if (snprintf(path, EXPERIMENT_PATH, "%s/report.html", out) >= EXPERIMENT_PATH) {
        return cli_fail(cli, NADIR_ERROR_IO, "%s: this name is too long", out);
    }
    const nadir_status status = cli_output_open(cli, path, &page);
    if (status != NADIR_OK) {
        return status;
    }
    fputs(head, page.out);
    fputs("<h2>The paper's figures and tables</h2>\n<ul class=\"index\">\n", page.out);
    print_index(cli, out, page.out);
    fputs("</ul>\n<h2>Sections</h2>\n<ol>\n", page.out);
    for_each(cli, out, page.out, print_contents);
    fprintf(page.out,
            "</ol>\n<h2>What the paper says and what we measure</h2>\n<div class=\"wide\"><table "
            "class=\"findings\">\n%s<tbody>\n",
            findings_head);
    for_each(cli, out, page.out, print_findings);
    fputs("</tbody></table></div>\n", page.out);
    for_each(cli, out, page.out, print_section);
    fputs("</body>\n</html>\n", page.out);
    const nadir_status closed = finish(cli, &page);
    return closed == NADIR_OK ? write_findings(cli, out) : closed;
}

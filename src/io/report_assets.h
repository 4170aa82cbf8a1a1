/* report_assets.h: report.css and report.js as text; CMake makes report_assets.c of them. */
#ifndef NADIR_IO_REPORT_ASSETS_H
#define NADIR_IO_REPORT_ASSETS_H

extern const unsigned char nadir_report_css[];
extern const unsigned char nadir_report_js[];

#endif

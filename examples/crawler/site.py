"""site.py PAGES FOLDER: a site for a crawler, with what makes crawlers run for ever, and nginx.conf that serves it on the socket
FOLDER/http.sock as http://site.example/. Every request is a line of FOLDER/requests.

Pages link to the next one and to others at random, so that there are cycles and most pages have many links to them; each page is written
in several ways (relative, with a fragment, with an upper-case host and a port, with session and campaign parameters, with parameters in
another order, through a redirect). Without end are: a calendar whose every day links to the next, redirects in a circle, and pages
that are given a new session at each visit.
"""

import os
import pathlib
import random
import sys

NGINX = """\
%(user)s
daemon off;
worker_processes 1;
pid %(folder)s/nginx.pid;
error_log %(folder)s/errors;
events { worker_connections 64; }
http {
  log_format line '$request_uri';
  access_log %(folder)s/requests line;
  default_type text/html;
  keepalive_requests 1000000;
  client_body_temp_path %(folder)s/t1; proxy_temp_path %(folder)s/t2; fastcgi_temp_path %(folder)s/t3;
  uwsgi_temp_path %(folder)s/t4; scgi_temp_path %(folder)s/t5;
  server {
    listen unix:%(folder)s/http.sock;
    server_name site.example;
    absolute_redirect off;
    root %(folder)s/pages;
    location = / { try_files /page0.html =404; }
    location ~ ^/moved/([0-9]+)$ { return 301 /page$1.html; }
    location = /circle/a { return 302 /circle/b; }
    location = /circle/b { return 302 /circle/a; }
    location = /calendar { return 200 '<a href="/calendar?day=1$arg_day">tomorrow</a> <a href="/page1.html">home</a>'; }
    location = /visit { return 200 '<a href="/visit?session=$request_id">again</a>'; }
  }
}
"""


def link(number, rng):
    """A page, in one of the ways in which pages are linked."""
    page = "page%d.html" % number
    return rng.choice([
        page, page, "/" + page, "./" + page, "/x/../" + page, page + "#top", "HTTP://Site.Example:80/" + page,
        "http://site.example/%s?utm_source=mail&amp;session=%d" % (page, rng.randrange(1 << 30)), "/moved/%d" % number,
    ])


def write(pages, folder):
    rng = random.Random(1)
    (folder / "pages").mkdir(parents=True)
    for number in range(pages):
        links = [link((number + 1) % pages, rng)] + [link(rng.randrange(pages), rng) for _ in range(6)]
        links.append(links[-1])
        if number % 100 == 0:
            two = ["b=2", "a=%d" % (number // 1000)]
            links += ["/circle/a", "/calendar?day=1", "/visit", "/page0.html?%s" % "&amp;".join(two),
                      "/page0.html?%s" % "&amp;".join(reversed(two)), "mailto:nobody@site.example", "http://other.example/"]
        text = "".join('<p><a href="%s">link</a>\n' % each for each in links)
        (folder / "pages" / ("page%d.html" % number)).write_text("<title>Page %d</title>\n%s" % (number, text))
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(NGINX % {"folder": folder, "user": user})


if __name__ == "__main__":
    write(int(float(sys.argv[1])), pathlib.Path(sys.argv[2]))

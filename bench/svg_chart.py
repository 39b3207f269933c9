"""Line charts as SVG, with nothing but the standard library.

A chart is a card of its own, so that it can be read on a light page and on a dark one; where the reader prefers dark, the
card is dark too. Every line is named at its right end, in its colour: no legend to look up.

    chart = Chart("ns per key", x=Axis("keys", 1e3, 1e8, log=True, text=str), y=Axis("ns", 1, 1000, log=True, text=str))
    chart.add(Line("blocked", [(1e3, 3.1), (1e6, 4.0)], colour=0))
    svg = chart.draw()
"""

import math
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 960, 560
LEFT, RIGHT, TOP, BOTTOM = 98, 258, 74, 66
LABEL_STEP = 17

# Distinct for colour-blind readers, too (after Okabe and Ito), each for a light and for a dark card.
COLOURS = [("#0b62b0", "#5db2ff"), ("#c2410c", "#ff9b5e"), ("#0a7d5a", "#45cfa2"), ("#a3267b", "#f08fcf"),
           ("#7a5c00", "#e3c04a"), ("#5b4bb7", "#b3a7ff"), ("#46606e", "#a9c0cc"), ("#8a1c1c", "#ff8f8f"),
           ("#1f6f7a", "#67d0dd"), ("#59631a", "#c3cf6d"), ("#6b4423", "#d9a77c"), ("#2e7d32", "#8fd694"), ("#c2185b", "#ff80ab"), ("#37474f", "#cfd8dc")]
INK = ("#1d2329", "#e9eef2")


@dataclass
class Axis:
    label: str
    low: float
    high: float
    text: callable
    log: bool = False
    step: float = 0  # of a linear axis

    def share(self, value):
        if self.log:
            return (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return (value - self.low) / (self.high - self.low)

    def ticks(self):
        if not self.log:
            count = round((self.high - self.low) / self.step)
            return [self.low + i * self.step for i in range(count + 1)]
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        return [10.0 ** i for i in range(first, last + 1)]

    def fine_ticks(self):
        if not self.log:
            return []
        every = [factor * 10.0 ** i for i in range(-9, 12) for factor in range(2, 10)]
        return [tick for tick in every if self.low <= tick <= self.high]


@dataclass
class Line:
    name: str
    points: list
    colour: int = 0       # of COLOURS; -1: ink
    dashed: bool = False
    strong: bool = False
    beside: bool = False  # named where it ends, not at the right edge


@dataclass
class Chart:
    title: str
    subtitle: str
    x: Axis
    y: Axis
    lines: list = field(default_factory=list)

    def add(self, line):
        if line.points:
            self.lines.append(line)

    def at(self, point):
        width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
        share = min(max(self.y.share(point[1]), 0.0), 1.0)
        return LEFT + self.x.share(point[0]) * width, TOP + (1 - share) * height

    def draw(self):
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
               f'role="img" font-family="Helvetica, Arial, DejaVu Sans, sans-serif" font-size="13">',
               f"<title>{escape(self.title)}</title>", self.style(),
               f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8"/>',
               f'<text class="ink" x="{LEFT}" y="30" font-size="18" font-weight="bold">{escape(self.title)}</text>',
               f'<text class="soft" x="{LEFT}" y="52">{escape(self.subtitle)}</text>']
        out += self.draw_axes()
        for line in self.lines:
            out += self.draw_line(line)
        out += self.draw_labels()
        return "\n".join(out + ["</svg>"]) + "\n"

    def style(self):
        def rules(which):
            card, edge, grid, soft = [("#ffffff", "#d4dae0", "#e7ebef", "#56616b"),
                                      ("#14181c", "#39424a", "#2a3138", "#a7b2bb")][which]
            text = [f".card{{fill:{card};stroke:{edge}}}", f".grid{{stroke:{grid}}}", f".axis{{stroke:{edge}}}",
                    f".ink{{fill:{INK[which]}}}", f".soft{{fill:{soft}}}",
                    f".s-1{{stroke:{INK[which]}}}", f".f-1{{fill:{INK[which]}}}"]
            for number, colours in enumerate(COLOURS):
                text.append(f".s{number}{{stroke:{colours[which]}}}.f{number}{{fill:{colours[which]}}}")
            return "".join(text)
        return f"<style>{rules(0)}@media (prefers-color-scheme:dark){{{rules(1)}}}</style>"

    def draw_axes(self):
        left, right, top, bottom = LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM
        out = []
        for tick in self.y.ticks():
            y = self.at((self.x.low, tick))[1]
            out.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
            out.append(f'<text class="soft" x="{left - 8}" y="{y + 4.5:.1f}" text-anchor="end">{escape(self.y.text(tick))}</text>')
        for tick in self.y.fine_ticks():
            y = self.at((self.x.low, tick))[1]
            out.append(f'<line class="axis" x1="{left - 4}" x2="{left}" y1="{y:.1f}" y2="{y:.1f}"/>')
        for tick in self.x.ticks():
            x = self.at((tick, self.y.low))[0]
            out.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}"/>')
            out.append(f'<text class="soft" x="{x:.1f}" y="{bottom + 20}" text-anchor="middle">{escape(self.x.text(tick))}</text>')
        middle_x, middle_y = (left + right) / 2, (top + bottom) / 2
        out.append(f'<line class="axis" x1="{left}" x2="{right}" y1="{bottom}" y2="{bottom}"/>')
        out.append(f'<text class="ink" x="{middle_x}" y="{bottom + 46}" text-anchor="middle">{escape(self.x.label)}</text>')
        out.append(f'<text class="ink" x="24" y="{middle_y}" text-anchor="middle" transform="rotate(-90 24 {middle_y})">{escape(self.y.label)}</text>')
        return out

    def draw_line(self, line):
        places = [self.at(point) for point in line.points]
        width = 3.2 if line.strong else 1.8
        dash = ' stroke-dasharray="7 5"' if line.dashed else ""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        out = [f'<polyline class="s{line.colour}" fill="none" stroke-width="{width}" stroke-linejoin="round"{dash} points="{path}"/>']
        if not line.dashed:
            radius = 4 if line.strong else 3
            out += [f'<circle class="f{line.colour}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>' for x, y in places]
        return out

    # At the height of each line's end, moved apart where they would overlap.
    def draw_labels(self):
        ends = sorted((self.at(line.points[-1])[1], number) for number, line in enumerate(self.lines)
                      if not line.beside)
        heights = [y for y, _ in ends]
        for _ in range(200):
            for i in range(1, len(heights)):
                gap = LABEL_STEP - (heights[i] - heights[i - 1])
                if gap > 0:
                    heights[i - 1] -= gap / 2
                    heights[i] += gap / 2
            if heights and heights[-1] > HEIGHT - BOTTOM:
                heights[-1] = HEIGHT - BOTTOM
            if heights and heights[0] < TOP:
                heights[0] = TOP
        out = []
        for line in self.lines:
            if line.beside:
                x, y = self.at(line.points[-1])
                out.append(f'<text class="f{line.colour}" x="{x - 22:.1f}" y="{y - 8:.1f}" text-anchor="end">{escape(line.name)}</text>')
        for height, (_, number) in zip(heights, ends):
            line = self.lines[number]
            x, y = self.at(line.points[-1])
            start = WIDTH - RIGHT + 10
            weight = ' font-weight="bold"' if line.strong else ""
            out.append(f'<polyline class="s{line.colour}" fill="none" stroke-width="0.8" opacity="0.6" points="{x + 5:.1f},{y:.1f} {start:.1f},{height:.1f}"/>')
            out.append(f'<text class="f{line.colour}" x="{start + 5:.1f}" y="{height + 4.5:.1f}"{weight}>{escape(line.name)}</text>')
        return out

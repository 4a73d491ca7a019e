"""Table of units of measure: prefixes, and the names and definition of each unit. `units` parses the table.

Definitions follow the SI brochure (9th edition), NIST SP 811 and the international yard and pound.
"""

from __future__ import annotations

from rewardkit.rewards.math.reading.nouns import table

PREFIXES = """
Y 24 yotta; Z 21 zetta; E 18 exa; P 15 peta; T 12 tera 太; G 9 giga 吉; M 6 mega 兆; k 3 kilo 千;
h 2 hecto 百; da 1 deca deka 十; d -1 deci 分; c -2 centi 厘; m -3 milli 毫; µ -6 micro 微; u -6;
n -9 nano 纳; p -12 pico 皮; f -15 femto 飞; a -18 atto; z -21 zepto; y -24 yocto
"""
"""Prefixes, each with its symbol, its power of ten, and its names in words."""

UNITS = """
m | meter metre 米 | | *
g | gram gramme gm 克 | | *
s | second sec 秒 秒钟 | | *
A | ampere amp 安培 安 | | *
K | kelvin 开尔文 | | *
mol | mole 摩尔 | | *
cd | candela | |
deg | degree | |
°C | celsius | |
°F | fahrenheit | |
dB | decibel | |
Da | dalton amu | | *
$ | dollar usd buck 美元 | |
€ | euro eur | |
£ | gbp | |
¥ | yuan rmb cny 元 | |
| month 个月 | |
| ton | |

Hz | hertz 赫兹 赫 | s^-1 | *
N | newton 牛顿 牛 | kg m s^-2 | *
Pa | pascal 帕斯卡 帕 | N m^-2 | *
J | joule 焦耳 焦 | N m | *
W | watt 瓦特 瓦 | J s^-1 | *
C | coulomb 库仑 库 | A s | *
V | volt 伏特 伏 | W A^-1 | *
F | farad 法拉 | C V^-1 | *
Ω | ohm 欧姆 欧 | V A^-1 | *
S | siemens | A V^-1 | *
Wb | weber 韦伯 | V s | *
T | tesla 特斯拉 | Wb m^-2 | *
H | henry henries 亨利 亨 | Wb A^-1 | *
rad | radian 弧度 | 180 π^-1 deg | *
sr | steradian | rad^2 |
lm | lumen | cd sr | *
lx | lux | lm m^-2 | *
Bq | becquerel | s^-1 | *
Gy | gray | J kg^-1 | *
Sv | sievert | J kg^-1 | *
kat | katal | mol s^-1 | *

L l | liter litre 升 | 1/1000 m^3 | *
cc | | 1/1000000 m^3 |
bar | | 100000 Pa | *
eV | electronvolt | 1.602176634e-19 J | *
cal | calorie 卡 | 4.184 J | *
Cal | | 1000 cal |
Wh | 瓦时 | 3600 J | *
Ah | | 3600 C | *
Nm | | N m | *
t | tonne 吨 | 1000 kg |
ha | hectare 公顷 | 10000 m^2 |
| min minute 分钟 | 60 s |
h | hour hr 小时 时 | 3600 s |
| day 天 | 86400 s |
| week 周 | 7 day |
| fortnight | 14 day |
| year yr 年 | 12 month |
| decade | 120 month |
| century centuries | 1200 month |
| arcmin arcminute | 1/60 deg |
| arcsec arcsecond | 1/3600 deg |
| rev revolution | 360 deg |
| rpm | rev min^-1 |
¢ | cent | 1/100 $ |
| 公里 | 1000 m |
| kgs 公斤 | 1000 g |
| kph kmh kmph | km h^-1 |

| in inch 英寸 | 0.0254 m |
| ft foot feet 英尺 | 12 in |
| yd yard | 3 ft |
| mi mile 英里 | 5280 ft |
nmi | | 1852 m |
| furlong | 660 ft |
| mph | mi h^-1 |
kn | knot | nmi h^-1 |
| acre 英亩 | 43560 ft^2 |
| lb pound 磅 | 0.45359237 kg |
| oz ounce 盎司 | 1/16 lb |
| stone | 14 lb |
lbf | | 9.80665 m s^-2 lb |
kgf | | 9.80665 N |
| slug | lbf s^2 ft^-1 |
psi | | lbf in^-2 |
hp | horsepower | 550 ft lbf s^-1 |
| btu | 1055.05585262 J |
| gal gallon 加仑 | 231 in^3 |
| qt quart | 1/4 gal |
| pint | 1/8 gal |
| cup | 1/16 gal |
| tbsp tablespoon | 1/256 gal |
| tsp teaspoon | 1/768 gal |

Å | angstrom ångström | 1/10000000000 m |
AU au | | 149597870700 m |
ly | lightyear | 9460730472580800 m |
pc | parsec | 648000 π^-1 AU | *
atm | atmosphere 大气压 | 101325 Pa |
Torr | torr | 1/760 atm |
mmHg | | 133.322387415 Pa |
dyn | dyne | 1/100000 N |
erg | | 1/10000000 J |
| gauss | 1/10000 T | *
"""
"""Units, one in each row: case-sensitive symbols | words in any case, singular or plural | definition, empty
for a base unit | `*` if prefixes are allowed. A unit with several sizes under one name, such as the ton, is a
base unit so that it is not converted."""

EVERYDAY = table(
    "mm cm dm km in ft yd mi mg gm kg kgs lb lbs oz ml mL qt gal sec secs min mins hr hrs ms day yr yrs ton "
    "rad mph kph usd rmb cny eur gbp"
)
"""Short names that are read as units directly after a number, even without a font or space: `60km`."""

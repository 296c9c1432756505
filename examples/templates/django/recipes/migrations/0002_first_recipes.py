"""What a new kitchen begins with. A branch has what its parent has cooked meanwhile."""

from django.db import migrations

RECIPES = [
    ("Dal", 35, "Boil red lentils with turmeric. Fry cumin, garlic and chili in butter, and pour them over."),
    ("Pancakes", 20, "Two eggs, a cup of flour, a cup of milk, a pinch of salt. Let it rest longer than you want to."),
    ("Tomato salad", 5, "Salt the tomatoes first, and wait; then oil, and nothing else."),
]


def add(apps, schema_editor):
    Recipe = apps.get_model("recipes", "Recipe")
    Recipe.objects.bulk_create(Recipe(name=name, minutes=minutes, steps=steps) for name, minutes, steps in RECIPES)


class Migration(migrations.Migration):
    dependencies = [("recipes", "0001_initial")]
    operations = [migrations.RunPython(add, migrations.RunPython.noop)]

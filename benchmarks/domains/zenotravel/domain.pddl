; Aircraft carry people between cities and burn a level of fuel a flight; flying fast burns two.
(define (domain zenotravel)
  (:requirements :strips :typing)
  (:types aircraft person city level)
  (:predicates (at ?x - (either aircraft person) ?c - city) (in ?p - person ?a - aircraft)
    (fuel ?a - aircraft ?l - level) (next ?low ?high - level))
  (:action board
    :parameters (?p - person ?a - aircraft ?c - city)
    :precondition (and (at ?p ?c) (at ?a ?c))
    :effect (and (not (at ?p ?c)) (in ?p ?a)))
  (:action debark
    :parameters (?p - person ?a - aircraft ?c - city)
    :precondition (and (in ?p ?a) (at ?a ?c))
    :effect (and (not (in ?p ?a)) (at ?p ?c)))
  (:action fly
    :parameters (?a - aircraft ?from ?to - city ?high ?low - level)
    :precondition (and (at ?a ?from) (fuel ?a ?high) (next ?low ?high) (not (= ?from ?to)))
    :effect (and (not (at ?a ?from)) (at ?a ?to) (not (fuel ?a ?high)) (fuel ?a ?low)))
  (:action zoom
    :parameters (?a - aircraft ?from ?to - city ?high ?middle ?low - level)
    :precondition (and (at ?a ?from) (fuel ?a ?high) (next ?middle ?high) (next ?low ?middle) (not (= ?from ?to)))
    :effect (and (not (at ?a ?from)) (at ?a ?to) (not (fuel ?a ?high)) (fuel ?a ?low)))
  (:action refuel
    :parameters (?a - aircraft ?c - city ?low ?high - level)
    :precondition (and (fuel ?a ?low) (next ?low ?high) (at ?a ?c))
    :effect (and (fuel ?a ?high) (not (fuel ?a ?low)))))

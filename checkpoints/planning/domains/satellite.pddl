(define (domain satellite)
  (:requirements :strips :typing :negative-preconditions)
  (:types direction instrument mode satellite)
  (:predicates (on_board ?x ?y) (supports ?x ?y) (pointing ?x ?y) (power_avail ?x) (power_on ?x)
               (calibrated ?x) (have_image ?x ?y) (calibration_target ?x ?y))
  (:action turn_to
    :parameters (?s - satellite ?d_new - direction ?d_prev - direction)
    :precondition (and (pointing ?s ?d_prev) (not (pointing ?s ?d_new)))
    :effect (and (pointing ?s ?d_new) (not (pointing ?s ?d_prev))))
  (:action switch_on
    :parameters (?i - instrument ?s - satellite)
    :precondition (and (on_board ?i ?s) (power_avail ?s))
    :effect (and (power_on ?i) (not (calibrated ?i)) (not (power_avail ?s))))
  (:action switch_off
    :parameters (?i - instrument ?s - satellite)
    :precondition (and (on_board ?i ?s) (power_on ?i))
    :effect (and (power_avail ?s) (not (power_on ?i))))
  (:action calibrate
    :parameters (?s - satellite ?i - instrument ?d - direction)
    :precondition (and (on_board ?i ?s) (calibration_target ?i ?d) (pointing ?s ?d) (power_on ?i))
    :effect (and (calibrated ?i)))
  (:action take_image
    :parameters (?s - satellite ?d - direction ?i - instrument ?m - mode)
    :precondition (and (calibrated ?i) (on_board ?i ?s) (supports ?i ?m) (power_on ?i) (pointing ?s ?d))
    :effect (and (have_image ?d ?m))))
